// SPDX-License-Identifier: Apache-2.0
// `--export DIR` of `memtape plan`: the files that launch one of its plans, as a part of the
// answer. Whoever asks writes them.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "answer/outside.h"
#include "answer/plan_question.h"
#include "report/plan_answer.h"

namespace memtape::answer {

struct ExportRequest {
  std::string folder;
  std::size_t plan = 1;
  bool force = false;  ///< overwrite files that exist
};

/// What plan's own options say about an export, or nothing if none is asked for.
Result<std::optional<ExportRequest>> export_request(const NamedValues& values);

/// Adds to each plan the command that launches it, where its program is exported, and to the answer
/// the files of the plan that is asked for, if any. It adds no files if no plan fits.
Result<void> add_exports(const std::optional<ExportRequest>& request, const std::string& model,
                         const Config& config, const PlanQuestion& question, const Outside& outside,
                         PlanAnswer& answer);
Result<void> add_server_exports(const std::optional<ExportRequest>& request, PlanAnswer& answer);

}  // namespace memtape::answer
