// SPDX-License-Identifier: Apache-2.0
// The folder that `memtape plan ... --export DIR` writes a plan's files into.
#pragma once

#include <string>

#include "answer/plan_export.h"

namespace memtape::cli {

/// New, or empty, or the user has said that files may be written over.
Result<void> check_folder(const answer::ExportRequest& request);

/// A line that says what was written.
Result<std::string> write_folder(const answer::ExportRequest& request, const PlanAnswer& answer);

}  // namespace memtape::cli
