// SPDX-License-Identifier: Apache-2.0
// Two trainings on thousands of GPUs, all distinct ranks: which ranks run alike, their ghost runs
// and the allocator, on all cores.
#include <benchmark/benchmark.h>

#include "framework/dialects.h"
#include "framework/megatron/pretrain.h"
#include "heap.h"
#include "mesh/gpu_catalog.h"
#include "model/catalog.h"
#include "predict/train.h"
#include "threads.h"

namespace memtape {
namespace {

/// The heap that the command line runs on.
const bool is_heap_prepared = (cli::prepare_heap(), true);

struct Job {
  const char* model;
  LayoutRecipe layout;
  std::int64_t sequence, micro_batches;
  const char* strategy;
};

TrainRecipe recipe_of(const Job& job) {
  TrainRecipe recipe;
  recipe.framework = *find_framework("megatron-core", frameworks());
  recipe.weights = DType::bfloat16;
  recipe.layout = job.layout;
  recipe.sequence_length = job.sequence;
  recipe.gradient_accumulation = job.micro_batches;
  (void)recipe.framework->strategy(job.strategy, recipe);
  return recipe;
}

void all_ranks(benchmark::State& state, const Job& job) {
  const Config config = *Config::parse(find_model(job.model)->config, "config.json");
  const ModelRequest model{.id = job.model, .config = config};
  const TrainRecipe recipe = recipe_of(job);
  DeviceSetup device;
  device.gpu = *find_gpu("h100-80gb");
  // What would make it fit is another question.
  const PredictOptions options{.advise = false, .workers = cli::threads()};
  for (auto _ : state) benchmark::DoNotOptimize(predict_train(model, recipe, device, options));
}

Job deepseek_v3(std::int64_t micro_batches) {
  Job job{.model = "deepseek-ai/DeepSeek-V3",
          .layout = {},
          .sequence = 4096,
          .micro_batches = micro_batches,
          .strategy = R"({"ddp": {"use_distributed_optimizer": true}})"};
  job.layout.gpus = 1024;
  job.layout.pp = 16;
  job.layout.ep = 64;
  return job;
}

/// Tensor, context, pipeline and data parallel.
Job llama_405b(std::int64_t micro_batches) {
  Job job{.model = "meta-llama/Llama-3.1-405B",
          .layout = {},
          .sequence = 131072,
          .micro_batches = micro_batches,
          .strategy = R"({"sp": true, "transformer_impl": "transformer_engine",
                            "ddp": {"use_distributed_optimizer": true}})"};
  job.layout.gpus = 16384;
  job.layout.tp = 8;
  job.layout.pp = 16;
  job.layout.cp = 16;
  return job;
}

void deepseek_v3_on_1024(benchmark::State& state) { all_ranks(state, deepseek_v3(state.range(0))); }
BENCHMARK(deepseek_v3_on_1024)->Arg(1)->Arg(16)->Arg(64)->Unit(benchmark::kMillisecond);

void llama_405b_on_16384(benchmark::State& state) { all_ranks(state, llama_405b(state.range(0))); }
BENCHMARK(llama_405b_on_16384)->Arg(1)->Arg(16)->Arg(64)->Unit(benchmark::kMillisecond);

/// The program of one rank alone, with micro-batches that are alike written down or each one run.
void ghost_of_one_rank(benchmark::State& state, torch::EqualLayerRuns runs) {
  const Job job = deepseek_v3(state.range(0));
  const Config config = *Config::parse(find_model(job.model)->config, "config.json");
  const TrainRecipe recipe = recipe_of(job);
  constexpr int kMiddleRank = 500;
  for (auto _ : state)
    benchmark::DoNotOptimize(
        megatron::run_training(recipe, *megatron::read_arguments(config, recipe),
                               {.major = 9, .sm_count = 132}, kMiddleRank, runs));
}
BENCHMARK_CAPTURE(ghost_of_one_rank, written_down, torch::EqualLayerRuns::written_down)
    ->Arg(16)
    ->Arg(64)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(ghost_of_one_rank, all_run, torch::EqualLayerRuns::all_run)
    ->Arg(16)
    ->Arg(64)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace memtape
