// SPDX-License-Identifier: Apache-2.0
#include "framework/torchtitan/pipeline_options.h"

#include <string>

#include "framework/torchtitan/stage_ranges.h"
#include "workload/train_recipe.h"

namespace memtape::torchtitan {
namespace {

constexpr torch_pp::OptionNames kNames{
    .schedule = "--strategy: pipeline_parallel_schedule",
    .stages_per_rank = "--strategy: pipeline_parallel_layers_per_stage",
    .microbatches = "--micro-batch-size / pipeline_parallel_microbatch_size",
};

/// How many stages a rank has.
Result<std::int64_t> stages_per_rank(const PipelineWords& words, const torch_pp::Options& options,
                                     std::int64_t layers) {
  if (!words.layers_per_stage) return is_single(options.schedule) ? 1 : 2;
  const std::int64_t effective = layers + words.first_less + words.last_less;
  const std::int64_t stages = (effective + *words.layers_per_stage - 1) / *words.layers_per_stage;
  if (stages % options.ranks != 0)
    return bad_input(std::to_string(stages) + " stages do not divide over " +
                         std::to_string(options.ranks) + " ranks",
                     kNames.stages_per_rank, "a number that gives a multiple of the ranks");
  return stages / options.ranks;
}

}  // namespace

Result<PipelineOptions> read_pipeline(const PipelineWords& words, const TrainRecipe& recipe,
                                      std::int64_t layers) {
  PipelineOptions pipeline;
  torch_pp::Options& options = pipeline.schedule;
  options.ranks = *recipe.layout.pp;
  const std::string named = recipe.layout.schedule.empty() ? "1F1B" : recipe.layout.schedule;
  const auto schedule = torch_pp::find_schedule(words.schedule.value_or(named), kNames);
  if (!schedule) return tl::unexpected(schedule.error());
  options.schedule = *schedule;
  const auto on_rank = stages_per_rank(words, options, layers);
  if (!on_rank) return tl::unexpected(on_rank.error());
  options.stages_per_rank = *on_rank;
  pipeline.microbatch_size = words.microbatch_size.value_or(1);
  if (recipe.micro_batch_size % pipeline.microbatch_size != 0)
    return bad_input("a local batch of " + std::to_string(recipe.micro_batch_size) +
                         " does not divide by " + std::to_string(pipeline.microbatch_size),
                     "--strategy: pipeline_parallel_microbatch_size",
                     "a divisor of --micro-batch-size");
  options.microbatches = recipe.micro_batch_size / pipeline.microbatch_size;
  options.infers_shapes = true;
  if (const auto fine = check_schedule(options, kNames); !fine) return tl::unexpected(fine.error());
  if (splits_backward(options.schedule) && recipe.checkpointing != Checkpointing::none)
    return unsupported("checkpointing where the backward is split is not modelled", kNames.schedule,
                       "1F1B, GPipe, Interleaved1F1B or LoopedBFS");
  auto stages = share_out(options.stages(), layers, {words.first_less, words.last_less});
  if (!stages) return tl::unexpected(stages.error());
  pipeline.stages = std::move(*stages);
  return pipeline;
}

}  // namespace memtape::torchtitan
