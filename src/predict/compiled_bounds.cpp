// SPDX-License-Identifier: Apache-2.0
#include "predict/compiled_bounds.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "framework/torch/train_loop.h"
#include "predict/program.h"
#include "predict/rank_report.h"
#include "predict/step_play.h"

namespace memtape {
namespace {

/// Families whose compiled steps were recorded (tests/truth/torch_compile.jsonl).
bool is_recorded(std::string_view model_type) {
  constexpr auto kRecorded = std::to_array<std::string_view>(
      {"llama", "mistral", "qwen2", "qwen3", "phi3", "gemma2", "gpt2"});
  return std::find(kRecorded.begin(), kRecorded.end(), model_type) != kRecorded.end();
}

/// The most that the program reserves.
Result<Bytes> reserved_by(const Config& config, const TrainRecipe& recipe,
                          const DeviceSetup& device) {
  Result<torch::TrainRun> run = run_program(config, recipe, device_traits(device), 0);
  if (!run) return tl::unexpected(run.error());
  const StepPlay play = play_program(run->tape, device, {}, torch::kSteps - 1, false);
  return rank_report(*run, play, 0, 0).peak.reserved;
}

/// By what another recipe takes more, and as much again as `beside`.
Result<void> widen_to(Bounds& bounds, const Config& config, const TrainRecipe& recipe,
                      const TrainRecipe& larger, const DeviceSetup& device, Bytes beside) {
  const Result<Bytes> with = reserved_by(config, recipe, device),
                      most = reserved_by(config, larger, device);
  if (!with) return tl::unexpected(with.error());
  if (!most) return tl::unexpected(most.error());
  bounds.high_bytes += std::max<Bytes>(*most + beside - *with, 0);
  return {};
}

/// Inductor may put what is computed again before the kernels that want it.
Result<void> widen_by_recomputing(Bounds& bounds, const Config& config, const TrainRecipe& recipe,
                                  const DeviceSetup& device) {
  TrainRecipe saving = recipe;
  saving.checkpointing = Checkpointing::none;
  bounds.causes.push_back(
      "where inductor puts what compiled checkpoints compute again is not modelled: at the most "
      "all is alive that a compiled step without them saves");
  return widen_to(bounds, config, recipe, saving, device, 0);
}

/// What a compiled step takes that another does not: zeros of the logits' size, which no graph
/// reads, and the sums of the embedding's gradient, both in float32 at the most.
Bytes beside_graphs(const Config& config, const TrainRecipe& recipe) {
  const std::int64_t tokens = recipe.micro_batch_size * recipe.sequence_length;
  const std::int64_t rows = tokens + config.integer("hidden_size", 0);
  return bytes_of(DType::float32, rows * config.integer("vocab_size", 0));
}

Result<void> widen_by_graph_breaks(Bounds& bounds, const Config& config, const TrainRecipe& recipe,
                                   const DeviceSetup& device) {
  TrainRecipe uncompiled = recipe;
  uncompiled.compile = false;
  bounds.causes.push_back(
      "compiled steps of this family have not been recorded: where torch.compile ends a graph "
      "early it saves less, at the most nothing");
  return widen_to(bounds, config, recipe, uncompiled, device, beside_graphs(config, recipe));
}

/// A buffer of the size of the L2 cache lies beside kernels that are tried
/// (torch/_inductor/runtime/benchmarking.py); no GPU's cache is larger.
constexpr Bytes kLargestCache = Bytes{128} << 20;

}  // namespace

Result<void> widen_by_compile(Bounds& bounds, const Config& config, const TrainRecipe& recipe,
                              const DeviceSetup& device) {
  if (!recipe.compile) return {};
  bounds.high_bytes += kLargestCache;
  bounds.causes.push_back(
      "what torch.compile takes while it tries kernels in the first step stays reserved");
  if (recipe.checkpointing != Checkpointing::none)
    if (const auto done = widen_by_recomputing(bounds, config, recipe, device); !done) return done;
  if (is_recorded(config.text("model_type", ""))) return {};
  return widen_by_graph_breaks(bounds, config, recipe, device);
}

std::string compile_warning(const TrainRecipe& recipe) {
  if (!recipe.compile) return {};
  return "torch.compile: the order in which inductor puts kernels, and what it takes while it "
         "tries "
         "them in the first step, are not modelled; reserved memory may differ";
}

}  // namespace memtape
