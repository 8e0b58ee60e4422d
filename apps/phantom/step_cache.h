// SPDX-License-Identifier: Apache-2.0
// Recorded steps that are kept between runs. A step that has run with the same configuration,
// settings, GPU and packages does not run again.
#pragma once

#include <optional>
#include <string>

#include "phantom/real_step.h"
#include "predict/bounds.h"

namespace memtape::phantom_run {

struct KeptStep {
  std::string stack, expect_json;
  LibraryChoices choices;
};

/// Everything that decides what a step does: its script, its device and the installed packages.
std::string step_key(const StepRequest& request, const std::string& script,
                     const std::string& packages);

/// Looks for it in memtape/steps below XDG_CACHE_HOME (or else ~/.cache). A file that cannot be
/// read, or that has another key, counts as missing.
std::optional<KeptStep> find_kept_step(const std::string& key);

/// Keeps the step if there is a place for it; otherwise it does nothing.
void keep_step(const std::string& key, const KeptStep& step);

}  // namespace memtape::phantom_run
