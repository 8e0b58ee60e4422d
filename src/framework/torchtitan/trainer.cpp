// SPDX-License-Identifier: Apache-2.0
#include "framework/torchtitan/trainer.h"

#include <map>
#include <memory>
#include <utility>

#include "framework/torch/low_bits.h"
#include "framework/torch/optimizer.h"
#include "framework/torchtitan/model.h"
#include "framework/torchtitan/model_part.h"
#include "framework/torchtitan/pipeline.h"
#include "ghost/session.h"
#include "mesh/shards.h"

namespace memtape::torchtitan {
namespace {

/// maybe_enable_amp: what fully_shard does not cast, and neither tensor parallelism nor a pipeline
/// forbids, runs under autocast.
TrainRecipe with_precision_of(TrainRecipe recipe, const JobConfig& job) {
  if (job.autocasts()) recipe.precision = Precision::amp_bf16;
  return recipe;
}

}  // namespace

Result<Job> read_job(const Config& whole, const TrainRecipe& recipe) {
  const Config config = decoder_config(whole);
  Result<JobConfig> job = job_config_of(config, recipe);
  if (!job) return tl::unexpected(job.error());
  Result<ModelArgs> args = read_model_args(config, recipe, *job);
  if (!args) return tl::unexpected(args.error());
  return Job{std::move(*job), std::move(*args)};
}

Result<torch::TrainRun> run_training(const TrainRecipe& recipe, const Job& whole,
                                     const ghost::DeviceTraits& device, int rank) {
  const JobConfig& job = whole.config;
  if (const auto known = torch::check_optimizer(recipe.optimizer, recipe.optimizer_impl); !known)
    return tl::unexpected(known.error());
  for (const auto& bits : {job.converters.linears(), job.converters.experts()})
    if (bits)
      if (const auto has = torch::check_low_bits(*bits, device, "--strategy: converters"); !has)
        return tl::unexpected(has.error());
  if (job.pipeline) return run_pipeline(whole.model, job, recipe, device, rank);
  ghost::Session session(device, recipe.release);
  session.mark(Phase::init, -1, 0);
  std::unique_ptr<Transformer> model;
  std::unique_ptr<ModelPart> driven;
  {
    const ghost::HostGuard meta;
    model = std::make_unique<Transformer>(
        whole.model, family::ModelOptions{.dtype = recipe.parameter_dtype(),
                                          .attention = family::AttentionImplementation::sdpa});
    driven = std::make_unique<ModelPart>(*model, job, rank);
  }
  driven->materialize();
  // The generator of batches held one until it made the next.
  const torch::StaticBytes statics =
      torch::run_steps(with_precision_of(recipe, job), *driven,
                       {.keeps_batch = !job.has(changes::kTitanGroupsHeads), .keeps_losses = true});
  if (session.error) return tl::unexpected(*session.error);
  return torch::TrainRun{std::move(session.tape), statics, false};
}

Result<std::vector<torch::RankClass>> rank_classes(const TrainRecipe& recipe, const Job& whole) {
  const JobConfig& job = whole.config;
  const auto& moe = whole.model.moe;
  const std::vector<std::int64_t> lengths = row_counts(whole.model);
  const std::int64_t tp = job.size("tp"), shards = job.fsdp2.mesh.size("shard");
  std::map<std::vector<std::int64_t>, torch::RankClass> classes;
  for (std::int64_t rank = 0; rank < recipe.layout.gpus; ++rank) {
    const std::int64_t at_tp = job.layout.coordinate(rank, "tp"),
                       at = job.fsdp2.mesh.coordinate(rank, "shard");
    const std::int64_t stage = job.layout.coordinate(rank, "pp");
    std::vector<std::int64_t> held{stage};
    for (const std::int64_t length : lengths) {
      const std::int64_t own = shard(length, tp, at_tp);
      for (const std::int64_t piece : {own, shard(own, shards, at), shard(length, shards, at)})
        held.push_back(-piece);
    }
    if (moe && job.expert_parallel > 1)
      held.push_back(-shard(moe->num_experts / job.expert_parallel, job.size("dp_shard"),
                            job.layout.coordinate(rank, "dp_shard")));
    if (job.size("cp") > 1) held.push_back(job.layout.coordinate(rank, "cp"));
    torch::RankClass& alike = classes[held];
    alike.ranks.push_back(static_cast<int>(rank));
    alike.stage = static_cast<int>(stage);
  }
  std::vector<torch::RankClass> found;
  for (auto& [held, alike] : classes) found.push_back(std::move(alike));
  return found;
}

}  // namespace memtape::torchtitan
