// SPDX-License-Identifier: Apache-2.0
// RealStep: one step that real torch and transformers run on a phantom GPU. The script consists of
// the settings, of what all recipes share (recording.py), and of a recipe of phantom/recipes. It
// leaves the bytes, the tape of the step, and the trace of the whole run.
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

/// The file of a recipe is NAME.py. vllm_start leaves no tape.
enum class Recipe { train_step, trainer_step, accelerate_step, generate_step, vllm_start };

struct StepRequest {
  Recipe recipe = Recipe::train_step;
  std::string name;
  const Config& config;
  const std::vector<Setting>& settings;  ///< as the answer of memtape train states them
  Gpu gpu;
  std::string placement = "linux";
  std::string python;  ///< the interpreter; "" means that of VIRTUAL_ENV, or else python3
  /// The memory of the device, which never runs out if it is not set, and that of its CUDA context.
  std::optional<Bytes> total_bytes = {}, context_bytes = {};
};

/// The script that is run. `folder` is where it leaves its files.
Result<std::string> step_script(const StepRequest& request, const std::filesystem::path& folder);

struct RealStep {
  std::string stack;        ///< "torch 2.11.0, transformers 5.17.0, sm80"
  std::string expect_json;  ///< the figures in the form of truth rows
  std::string tape_text;    ///< "" if the recipe leaves none
  std::filesystem::path trace;
};

/// Runs the step. Only if it fails, what the script prints goes to standard error.
Result<RealStep> run_step(const StepRequest& request, const RunFolder& folder);

}  // namespace memtape::phantom_run
