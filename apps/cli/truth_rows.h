// SPDX-License-Identifier: Apache-2.0
// Truth rows: JSON lines that say what to ask memtape (`args`, with `config` in place of
// "{config}") and what really came out (`expect`, numbers by dotted path). A path is looked up in
// the rank's entry, then at the top, then in `model`. The first line may describe the file; a row's
// `config` may be the name of one in the file of configurations that this line names, a line each:
// {"name": ..., "config": {...}}.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace memtape::cli {

struct TruthRow {
  std::string id;
  std::vector<std::string> args;  ///< with --with for `stack`, where they name no releases
  std::string config;             ///< JSON text, or ""
  std::string assistant;          ///< that of the model beside it, in place of "{assistant}", or ""
  std::string tape;               ///< path of the recorded step tape relative to the file, or ""
  std::vector<std::pair<std::string, std::int64_t>> expect;
};

/// The file of configurations that the first line of a file's text names, relative to that file; ""
/// where it names none.
std::string file_of_configs(std::string_view text);

/// Configurations as JSON text by name.
using NamedConfigs = std::map<std::string, std::string, std::less<>>;

Result<NamedConfigs> parse_configs(std::string_view text, const std::string& where);

/// The rows of a file's text; `where` names it in messages.
Result<std::vector<TruthRow>> parse_truth_rows(std::string_view text, const NamedConfigs& configs,
                                               const std::string& where);

/// The numbers at the row's paths in an answer's JSON, in the order of `expect`; nothing where the
/// answer has none.
std::vector<std::optional<std::int64_t>> numbers_of(const std::string& answer_json,
                                                    const TruthRow& row);

}  // namespace memtape::cli
