// SPDX-License-Identifier: Apache-2.0
#include "predict/compiled_bounds.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "model/type_of.h"
#include "predict/rank_report.h"
#include "predict/recipe_excess.h"

namespace memtape {
namespace {

/// Families whose compiled steps were recorded (tests/truth/torch_compile.jsonl).
bool is_recorded_family(std::string_view family) {
  constexpr auto kRecorded = std::to_array<std::string_view>(
      {"llama", "mistral", "qwen2", "qwen3", "phi3", "gemma2", "gpt2"});
  return std::find(kRecorded.begin(), kRecorded.end(), family) != kRecorded.end();
}

/// By what another recipe takes more, and as much again as `beside`.
Result<void> widen_to(Bounds& bounds, const Config& config, const TrainRecipe& recipe,
                      const TrainRecipe& larger, const DeviceSetup& device, Bytes beside) {
  const Result<Bytes> excess = excess_over(config, recipe, larger, device);
  if (!excess) return tl::unexpected(excess.error());
  bounds.high_bytes += std::max<Bytes>(*excess + beside, 0);
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

/// Trainer compiles what is under autocast and beside its own loss, which no rule here says.
void widen_by_trainer_compile(Bounds& bounds, const Config& config, const TrainRecipe& recipe,
                              const RankReport& rank) {
  bounds.low_bytes = std::min(bounds.low_bytes,
                              rank.peak_device_bytes - rank.peak.reserved + rank.steady.requested);
  bounds.high_bytes += beside_graphs(config, recipe) + kLargestCache;
  bounds.causes.push_back(
      "Trainer's compiled steps are not modelled: at the least they take what lies between steps, "
      "at the most the uncompiled step and what compiling adds to it");
}

}  // namespace

Result<void> widen_by_compile(Bounds& bounds, const Config& config, const TrainRecipe& recipe,
                              const CompiledOn& on) {
  if (recipe.torch_compile) widen_by_trainer_compile(bounds, config, recipe, on.rank);
  if (!recipe.compile) return {};
  const DeviceSetup& device = on.device;
  bounds.high_bytes += kLargestCache;
  bounds.causes.push_back(
      "what torch.compile takes while it tries kernels in the first step stays reserved");
  if (recipe.checkpointing != Checkpointing::none)
    if (const auto done = widen_by_recomputing(bounds, config, recipe, device); !done) return done;
  if (is_recorded_family(type_of(config))) return {};
  return widen_by_graph_breaks(bounds, config, recipe, device);
}

std::string compile_warning(const TrainRecipe& recipe) {
  if (recipe.torch_compile)
    return "--torch_compile: the figures are those of the step without it; the bounds say how far "
           "a compiled one may differ";
  if (!recipe.compile) return {};
  return "torch.compile: the order in which inductor puts kernels, and what it takes while it "
         "tries "
         "them in the first step, are not modelled; reserved memory may differ";
}

}  // namespace memtape
