// SPDX-License-Identifier: Apache-2.0
// RealStep: one step run by real torch and transformers on a phantom GPU. The script is a recipe of
// phantom/recipes behind what all recipes share (recording.py), with the settings written above; it
// leaves bytes, the step's tape and the whole run's trace.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "formats/step_tape.h"
#include "mesh/gpu_catalog.h"
#include "model/config.h"
#include "outcome/prediction.h"
#include "phantom/run_folder.h"

namespace memtape::phantom_run {

/// A recipe's file is NAME.py. vllm_start leaves no tape.
enum class Recipe { train_step, trainer_step, accelerate_step, generate_step, vllm_start };

struct StepRequest {
  Recipe recipe = Recipe::train_step;
  std::string name;
  const Config& config;
  const std::vector<Setting>& settings;  ///< as memtape train's answer repeats them
  Gpu gpu;
  std::string placement = "linux";
  std::string python;  ///< interpreter; "": that of VIRTUAL_ENV, else python3
  std::optional<Bytes> total_bytes = {},
                       context_bytes = {};  ///< of the device; not said: it never ends
};

/// The script as it is run; `folder` is where it leaves its files.
Result<std::string> step_script(const StepRequest& request, const std::filesystem::path& folder);

struct RealStep {
  std::string stack;        ///< "torch 2.11.0, transformers 5.17.0, sm80"
  std::string expect_json;  ///< the figures, as truth rows have them
  std::string tape_text;    ///< "" where the recipe leaves none
  std::filesystem::path trace;
};

/// Runs it. What the script prints goes to standard error only when it fails.
Result<RealStep> run_step(const StepRequest& request, const RunFolder& folder);

}  // namespace memtape::phantom_run
