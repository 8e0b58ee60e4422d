// SPDX-License-Identifier: Apache-2.0
// Recorded steps that are kept between runs: a step that ran once with the same configuration,
// settings, GPU and packages is not run again.
#pragma once

#include <optional>
#include <string>

#include "phantom/real_step.h"

namespace memtape::phantom_run {

struct KeptStep {
  std::string stack, expect_json;
};

/// Everything that decides what a step does: its script, its device and what is installed.
std::string step_key(const StepRequest& request, const std::string& script,
                     const std::string& packages);

/// Looked up below XDG_CACHE_HOME (else ~/.cache) in memtape/steps. A file that cannot be read, or
/// holds another key, is as none.
std::optional<KeptStep> find_kept_step(const std::string& key);

/// Keeps it, where there is a place to; else nothing happens.
void keep_step(const std::string& key, const KeptStep& step);

}  // namespace memtape::phantom_run
