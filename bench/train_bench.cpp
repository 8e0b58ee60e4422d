// SPDX-License-Identifier: Apache-2.0
// One training step of Llama-3-70B: the ghost run that writes its tape, the allocator that plays
// it, and the summary that answers in closed form. docs/performance.md says what came out.
#include <benchmark/benchmark.h>

#include "framework/torch/train_loop.h"
#include "heap.h"
#include "model/catalog.h"
#include "predict/step_play.h"
#include "predict/step_summary.h"
#include "predict/train.h"

namespace memtape {
namespace {

/// The heap that the command line runs on.
const bool is_heap_prepared = (cli::prepare_heap(), true);

const Config& llama_70b() {
  static const Config config =
      *Config::parse(find_model("meta-llama/Meta-Llama-3-70B")->config, "config.json");
  return config;
}

TrainRecipe fused_recipe() {
  TrainRecipe recipe;
  recipe.optimizer_impl = OptimizerImpl::fused;
  return recipe;
}

/// Model building and three steps on ghost tensors.
void ghost_run(benchmark::State& state) {
  for (auto _ : state)
    benchmark::DoNotOptimize(torch::run_training(llama_70b(), fused_recipe(), {}));
  state.SetItemsProcessed(state.iterations() * torch::kSteps);
}
BENCHMARK(ghost_run)->Unit(benchmark::kMillisecond);

/// Their tape through the allocator.
void allocator_play(benchmark::State& state) {
  const torch::TrainRun run = *torch::run_training(llama_70b(), fused_recipe(), {});
  for (auto _ : state)
    benchmark::DoNotOptimize(play_program(run.tape, {}, {}, torch::kSteps - 1, false));
  state.SetItemsProcessed(state.iterations() * torch::kSteps);
}
BENCHMARK(allocator_play)->Unit(benchmark::kMillisecond);

/// The whole answer, as the command line gives it.
void whole_answer(benchmark::State& state) {
  const ModelRequest model{.id = "70b", .config = llama_70b()};
  for (auto _ : state) benchmark::DoNotOptimize(predict_train(model, fused_recipe(), {}));
  state.SetItemsProcessed(state.iterations() * torch::kSteps);
}
BENCHMARK(whole_answer)->Unit(benchmark::kMillisecond);

/// The peak of one plan from the summary.
void summary_of_a_plan(benchmark::State& state) {
  const StepSummary summary = **summarize_step(llama_70b(), fused_recipe(), {});
  std::int64_t layers = 80;
  for (auto _ : state) {
    benchmark::DoNotOptimize(layers);
    benchmark::DoNotOptimize(summary.peak_requested(layers));
  }
}
BENCHMARK(summary_of_a_plan)->Unit(benchmark::kNanosecond);

}  // namespace
}  // namespace memtape
