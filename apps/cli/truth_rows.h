// SPDX-License-Identifier: Apache-2.0
// Truth rows: JSON lines that say what to ask memtape (`args`, in which "{config}" stands for
// `config`) and what really came out (`expect`, numbers by dotted path). A path is looked up in the
// entry of the rank, then at the top, and then in `model`. The first line may describe the file.
// The `config` of a row may be the name of one in the file of configurations that this first line
// names, in which each line is {"name": ..., "config": {...}}.
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
  std::vector<std::string> args;  ///< with --with for `stack`, unless they name releases themselves
  std::string config;             ///< JSON text, or ""
  /// The configuration of the assistant model, which replaces "{assistant}", or ""
  std::string assistant;
  std::string tape;  ///< the path of the recorded step tape, relative to the file, or ""
  std::vector<std::pair<std::string, std::int64_t>> expect;
};

/// The file of configurations that the first line of a file's text names, relative to that file. It
/// is "" if the line names none.
std::string file_of_configs(std::string_view text);

/// The configurations as JSON text, by name.
using NamedConfigs = std::map<std::string, std::string, std::less<>>;

Result<NamedConfigs> parse_configs(std::string_view text, const std::string& where);

/// The rows of a file's text. `where` is the file's name in messages.
Result<std::vector<TruthRow>> parse_truth_rows(std::string_view text, const NamedConfigs& configs,
                                               const std::string& where);

/// The numbers at the row's paths in the JSON of an answer, in the order of `expect`. A number is
/// absent if the answer does not have it.
std::vector<std::optional<std::int64_t>> numbers_of(const std::string& answer_json,
                                                    const TruthRow& row);

}  // namespace memtape::cli
