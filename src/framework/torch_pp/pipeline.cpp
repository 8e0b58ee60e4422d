// SPDX-License-Identifier: Apache-2.0
#include "framework/torch_pp/pipeline.h"

#include <deque>
#include <memory>
#include <numeric>

#include "framework/torch/clip_grad.h"
#include "framework/torch/model_setup.h"
#include "framework/torch/optimizer.h"
#include "framework/torch_pp/action_order.h"
#include "framework/torch_pp/options.h"
#include "framework/torch_pp/schedule.h"
#include "framework/torch_pp/stage_modules.h"
#include "ghost/ops/creation.h"
#include "tape/repeat.h"

namespace memtape::torch_pp {
namespace {

/// The stages of one rank, with their modules in memory.
class RankStages {
 public:
  RankStages(family::StageParts& parts, const Options& options,
             const std::vector<std::int64_t>& layers) {
    for (std::size_t stage = 0; stage < layers.size(); ++stage) {
      const std::int64_t end = ranges_.empty() ? 0 : ranges_.back().end_layer;
      ranges_.push_back({.first_layer = end,
                         .end_layer = end + layers[stage],
                         .embeds = stage == 0,
                         .has_head = stage + 1 == layers.size()});
    }
    parts_ = &parts;
    count_ = options.stages();
  }

  void make(const std::vector<std::int64_t>& indices) {
    for (const std::int64_t index : indices)
      to_empty(parts_->modules(ranges_[static_cast<std::size_t>(index)]));
    for (const std::int64_t index : indices) {
      modules_.emplace_back(*parts_, ranges_[static_cast<std::size_t>(index)]);
      stages.push_back(std::make_unique<PipelineStage>(modules_.back(), StagePlace{index, count_}));
    }
  }

  std::vector<Tensor> parameters() const {
    std::vector<Tensor> found;
    for (const auto& stage : stages)
      for (Tensor& parameter : stage->module().parameters())
        if (parameter.requires_grad()) found.push_back(std::move(parameter));
    return found;
  }

  torch::StaticBytes statics(torch::StaticBytes whole) const {
    whole.parameter_bytes = 0;
    for (const auto& stage : stages)
      for (const Tensor& parameter : stage->module().parameters())
        whole.parameter_bytes += parameter.nbytes();
    return whole;
  }

  std::vector<std::unique_ptr<PipelineStage>> stages;

 private:
  family::StageParts* parts_;
  std::deque<LayersOfModel> modules_;
  std::int64_t count_ = 1;
  std::vector<family::StageRange> ranges_;
};

/// optimizer.step() and zero_grad() around schedule.step(); every rank makes the whole batch, whose
/// tokens are their own labels.
class TrainLoop {
 public:
  TrainLoop(const TrainRecipe& recipe, const Options& options, Schedule& schedule,
            std::vector<Tensor> parameters)
      : recipe_(recipe),
        options_(options),
        schedule_(schedule),
        optimizer_(torch::make_optimizer(recipe, std::move(parameters))) {}

  void run() {
    ghost::Session& session = ghost::session();
    if (session.error) return;
    run_steps(session.tape, torch::kSteps, [&](int step) {
      run_step(step);
      return !session.error;
    });
  }

  Bytes gradient_bytes = 0;
  Bytes state_bytes() const { return optimizer_->state_bytes(); }

 private:
  void run_step(int step) {
    ghost::session().mark(Phase::forward, step, 0);
    {
      const Tensor tokens =
          ghost::zeros({recipe_.micro_batch_size * options_.microbatches, recipe_.sequence_length},
                       DType::int64, Category::input);
      std::vector<Tensor> losses;
      schedule_.step(step, tokens, losses);
    }
    ghost::session().mark(Phase::optimizer, step, 0);
    gradient_bytes = torch::gradient_bytes(optimizer_->parameters());
    if (recipe_.max_grad_norm) torch::clip_grad_norm(optimizer_->parameters());
    optimizer_->step();
    optimizer_->zero_grad();
  }

  const TrainRecipe& recipe_;
  const Options& options_;
  Schedule& schedule_;
  std::unique_ptr<torch::Optimizer> optimizer_;
};

}  // namespace

Result<torch::TrainRun> run_training(const Config& config, const TrainRecipe& recipe,
                                     const Options& options, const ghost::DeviceTraits& device,
                                     int rank) {
  if (const auto known = torch::check_optimizer(recipe.optimizer, recipe.optimizer_impl); !known)
    return tl::unexpected(known.error());
  ghost::Session session(device, recipe.release);
  session.mark(Phase::init, -1, 0);
  const auto model = model_without_memory(config, recipe);
  if (!model) return tl::unexpected(model.error());
  family::StageParts& parts = *(*model)->stage_parts();
  const auto layers = layers_by_stage(options, parts.layers());
  if (!layers) return tl::unexpected(layers.error());

  RankStages on_rank(parts, options, *layers);
  on_rank.make(stages_of_rank(options, rank));
  const Activations activations{
      {recipe.micro_batch_size, recipe.sequence_length, parts.head().in_features},
      recipe.parameter_dtype()};
  const std::unique_ptr<Schedule> schedule =
      is_single(options.schedule)
          ? make_one_stage_schedule(options, on_rank.stages, activations)
          : make_schedule_runtime(options, rank, on_rank.stages, activations);
  session.tape.empty_cache();
  torch::TrainRun run;
  {
    TrainLoop loop(recipe, options, *schedule, on_rank.parameters());
    loop.run();
    run.statics = on_rank.statics(torch::count_statics(**model));
    run.statics.gradient_bytes = loop.gradient_bytes;
    run.statics.optimizer_state_bytes = loop.state_bytes();
    session.finished = true;  // before all is torn down
  }
  if (session.error) return tl::unexpected(*session.error);
  run.tape = std::move(session.tape);
  run.is_pipeline = true;
  return run;
}

std::vector<torch::RankClass> rank_classes(const Options& options) {
  std::vector<torch::RankClass> classes;
  for (std::int64_t rank = 0; rank < options.ranks; ++rank)
    classes.push_back({.ranks = {static_cast<int>(rank)}, .stage = static_cast<int>(rank)});
  return classes;
}

}  // namespace memtape::torch_pp
