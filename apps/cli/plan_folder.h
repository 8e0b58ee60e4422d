// SPDX-License-Identifier: Apache-2.0
// The folder into which `memtape plan ... --export DIR` writes the files of a plan.
#pragma once

#include <string>

#include "answer/plan_export.h"

namespace memtape::cli {

/// Checks that it is new or empty, or that the user allows files to be overwritten.
Result<void> check_folder(const answer::ExportRequest& request);

/// Returns a line that says what was written.
Result<std::string> write_folder(const answer::ExportRequest& request, const PlanAnswer& answer);

}  // namespace memtape::cli
