// SPDX-License-Identifier: Apache-2.0
#include "predict/compiled_bounds.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "framework/torch/train_loop.h"
#include "predict/program.h"
#include "predict/rank_report.h"
#include "predict/step_play.h"
#include "workload/train_options.h"

namespace memtape {
namespace {

/// Families whose compiled steps were recorded (tests/truth/torch_compile.jsonl).
bool is_recorded(std::string_view model_type) {
  constexpr auto kRecorded = std::to_array<std::string_view>(
      {"llama", "mistral", "qwen2", "qwen3", "phi3", "gemma2", "gpt2"});
  return std::find(kRecorded.begin(), kRecorded.end(), model_type) != kRecorded.end();
}

/// The compiled step's highest level over that of the same step uncompiled.
Result<Bytes> saved_by_compiling(const Config& config, const TrainRecipe& recipe,
                                 const DeviceSetup& device) {
  Bytes levels[2];
  for (const bool compiled : {false, true}) {
    TrainRecipe asked = recipe;
    if (!compiled) asked.layout.strategy.clear();
    Result<torch::TrainRun> run = run_program(config, asked, device_traits(device), 0);
    if (!run) return tl::unexpected(run.error());
    const StepPlay play = play_program(run->tape, device, {}, torch::kSteps - 1, false);
    levels[compiled ? 1 : 0] = rank_report(*run, play, 0, 0).peak.reserved;
  }
  return std::max<Bytes>(levels[0] - levels[1], 0);
}

}  // namespace

Result<void> widen_by_compile(Bounds& bounds, const Config& config, const TrainRecipe& recipe,
                              const DeviceSetup& device) {
  if (!compiles(recipe) || is_recorded(config.text("model_type", ""))) return {};
  const Result<Bytes> saved = saved_by_compiling(config, recipe, device);
  if (!saved) return tl::unexpected(saved.error());
  bounds.high_bytes += *saved;
  bounds.causes.push_back(
      "compiled steps of this family have not been recorded: where torch.compile ends a graph "
      "early "
      "it saves less, at the most nothing");
  return {};
}

std::string compile_warning(const TrainRecipe& recipe) {
  if (!compiles(recipe)) return {};
  return "torch.compile: the order in which inductor puts kernels, and what it takes while it "
         "tries "
         "kernels in the first step, are not modelled; reserved memory may differ";
}

}  // namespace memtape
