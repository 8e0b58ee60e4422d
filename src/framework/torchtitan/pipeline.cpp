// SPDX-License-Identifier: Apache-2.0
#include "framework/torchtitan/pipeline.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "framework/torch/clip_grad.h"
#include "framework/torch/model_setup.h"
#include "framework/torch/optimizer.h"
#include "framework/torch_cp/context.h"
#include "framework/torch_pp/action_order.h"
#include "framework/torch_pp/schedule.h"
#include "framework/torchtitan/loss.h"
#include "framework/torchtitan/model_part.h"
#include "ghost/ops/creation.h"
#include "ghost/session.h"
#include "tape/repeat.h"

namespace memtape::torchtitan {
namespace {

/// A stage's module, an FSDPModule where it is sharded.
class Stage final : public torch_pp::StageModule {
 public:
  Stage(const ModelArgs& args, const JobConfig& job, std::int64_t rank)
      : model_(args, {.dtype = DType::float32, .attention = family::AttentionImplementation::sdpa}),
        part_(model_, job, rank) {}

  ModelPart& part() { return part_; }

  std::vector<Tensor> parameters() const override { return nn::parameters(part_.module()); }
  Tensor forward(const Tensor& input) override { return part_.run(input); }
  void begin_backward() override {
    if (part_.shards()) part_.shards()->set_gradient_sync(false);
  }
  void unshard() override {
    if (part_.shards()) part_.shards()->unshard();
  }
  void wait_for_unshard() override {
    if (part_.shards()) part_.shards()->wait_for_unshard();
  }
  void reshard() override {
    if (part_.shards()) part_.shards()->reshard();
  }
  void reduce_gradients() override {
    if (part_.shards()) part_.shards()->reduce_gradients();
  }

 private:
  Transformer model_;
  ModelPart part_;
};

/// The stages of one rank (pipeline_module_split).
class RankStages {
 public:
  RankStages(const ModelArgs& whole, const JobConfig& job, std::int64_t rank) {
    const torch_pp::Options& options = job.pipeline->schedule;
    const auto indices = torch_pp::stages_of_rank(options, job.layout.coordinate(rank, "pp"));
    {
      const ghost::HostGuard meta;
      ModelArgs args = whole;
      for (const std::int64_t index : indices) {
        args.part = job.pipeline->stages[static_cast<std::size_t>(index)];
        modules_.emplace_back(args, job, rank);
        args.blocks_before += args.part->end_layer - args.part->first_layer;
        stages.push_back(std::make_unique<torch_pp::PipelineStage>(
            modules_.back(), torch_pp::StagePlace{index, options.stages()}));
      }
    }
    for (Stage& module : modules_) module.part().materialize();
  }

  /// OptimizersContainer: one for each part.
  std::vector<std::unique_ptr<torch::Optimizer>> make_optimizers(const TrainRecipe& recipe) {
    std::vector<std::unique_ptr<torch::Optimizer>> optimizers;
    for (Stage& module : modules_) {
      optimizers.push_back(module.part().make_optimizer(recipe));
      module.part().set_up(*optimizers.back());
    }
    return optimizers;
  }

  std::vector<torch_cp::ContextBuffer> rotations() {
    std::vector<torch_cp::ContextBuffer> tables;
    for (Stage& module : modules_) tables.push_back(module.part().rotations());
    return tables;
  }

  torch::StaticBytes statics(torch::StaticBytes whole) {
    whole.parameter_bytes = whole.buffer_bytes = 0;
    for (Stage& module : modules_) {
      const torch::StaticBytes part = module.part().statics();
      whole.parameter_bytes += part.parameter_bytes;
      whole.buffer_bytes += part.buffer_bytes;
    }
    return whole;
  }

  std::vector<std::unique_ptr<torch_pp::PipelineStage>> stages;

 private:
  std::deque<Stage> modules_;
};

/// train_step around schedule.step(); every rank moves inputs and labels to its GPU.
class TrainLoop {
 public:
  TrainLoop(const TrainRecipe& recipe, const JobConfig& job, const torch_cp::Ring& ring,
            RankStages& on_rank, torch_pp::Schedule& schedule)
      : recipe_(recipe),
        keeps_batch_(!job.has(changes::kTitanGroupsHeads)),
        schedule_(schedule),
        on_rank_(on_rank),
        is_cut_(ring.size > 1),
        context_(ring),
        optimizers_(on_rank.make_optimizers(recipe)) {}

  void run() {
    ghost::Session& session = ghost::session();
    run_steps(session.tape, torch::kSteps, [&](int step) {
      run_step(step);
      return !session.error;
    });
  }

  Bytes gradient_bytes = 0;
  Bytes state_bytes() const {
    Bytes bytes = 0;
    for (const auto& optimizer : optimizers_) bytes += optimizer->state_bytes();
    return bytes;
  }

 private:
  void run_step(int step) {
    const auto micro_batches = std::min(recipe_.gradient_accumulation, torch::kMostMicroBatches);
    std::vector<Tensor> accumulated_losses;
    const auto keep_loss = [&] {
      if (recipe_.gradient_accumulation > 1)
        accumulated_losses.push_back(ghost::empty({}, DType::float32));
    };
    for (auto more = micro_batches; more < recipe_.gradient_accumulation; ++more) keep_loss();
    for (std::int64_t micro = 0; micro < micro_batches; ++micro) {
      ghost::session().mark(Phase::forward, step, 0);
      next_batch();
      std::vector<Tensor> losses;
      if (is_cut_) enter_context();
      schedule_.step(step, inputs_, losses);
      if (is_cut_) context_.leave();
      keep_loss();
    }
    ghost::session().mark(Phase::optimizer, step, 0);
    std::vector<Tensor> parameters;
    for (const auto& optimizer : optimizers_)
      parameters.insert(parameters.end(), optimizer->parameters().begin(),
                        optimizer->parameters().end());
    gradient_bytes = torch::gradient_bytes(parameters);
    if (recipe_.max_grad_norm) torch::clip_grad_norm(parameters);
    for (const auto& optimizer : optimizers_) optimizer->step();
    for (const auto& optimizer : optimizers_) optimizer->zero_grad();
    if (!keeps_batch_) drop_batch();
  }

  void enter_context() {
    std::vector<torch_cp::ContextBuffer> buffers{{&inputs_}, {&labels_}};
    for (const torch_cp::ContextBuffer& table : on_rank_.rotations()) buffers.push_back(table);
    context_.enter(std::move(buffers));
  }

  void drop_batch() {
    inputs_.reset();
    labels_.reset();
  }
  /// batch_generator, which lets go of the last batch for the next.
  void next_batch() {
    drop_batch();
    const ghost::Dims sizes{recipe_.micro_batch_size, recipe_.sequence_length};
    inputs_ = ghost::zeros(sizes, DType::int64, Category::input);
    labels_ = ghost::zeros(sizes, DType::int64, Category::input);
  }

  const TrainRecipe& recipe_;
  const bool keeps_batch_;
  torch_pp::Schedule& schedule_;
  RankStages& on_rank_;
  const bool is_cut_;
  torch_cp::Context context_;
  std::vector<std::unique_ptr<torch::Optimizer>> optimizers_;
  Tensor inputs_, labels_;
};

/// rescale_accumulated_loss twice: by gradient accumulation and by micro-batches.
torch_pp::Options schedule_options(const JobConfig& job) {
  torch_pp::Options options = job.pipeline->schedule;
  options.loss = [&job](const Tensor& output, const Tensor& target) {
    Tensor loss = loss_of(output, target, job).div(2.0);
    return std::move(loss).div(2.0);
  };
  return options;
}

}  // namespace

Result<torch::TrainRun> run_pipeline(const ModelArgs& args, const JobConfig& job,
                                     const TrainRecipe& recipe, const ghost::DeviceTraits& device,
                                     std::int64_t rank) {
  ghost::Session session(device, recipe.release);
  session.mark(Phase::init, -1, 0);
  torch::StaticBytes whole;
  {
    const ghost::HostGuard meta;
    Transformer model(
        args, {.dtype = DType::float32, .attention = family::AttentionImplementation::sdpa});
    whole = torch::count_statics(model);
  }
  RankStages on_rank(args, job, rank);
  const torch_pp::Options options = schedule_options(job);
  const torch_pp::Activations activations{
      {job.pipeline->microbatch_size, recipe.sequence_length / (job.size("tp") * job.size("cp")),
       args.dim},
      job.shards ? job.fsdp2.mixed_precision.param_dtype.value_or(DType::float32) : DType::float32};
  const std::unique_ptr<torch_pp::Schedule> schedule =
      is_single(options.schedule)
          ? make_one_stage_schedule(options, on_rank.stages, activations)
          : make_schedule_runtime(options, job.layout.coordinate(rank, "pp"), on_rank.stages,
                                  activations);
  torch::TrainRun run;
  {
    const torch_cp::Ring ring{job.size("cp"), job.layout.coordinate(rank, "cp"), job.rotation};
    TrainLoop loop(recipe, job, ring, on_rank, *schedule);
    loop.run();
    run.statics = on_rank.statics(whole);
    run.statics.gradient_bytes = loop.gradient_bytes;
    run.statics.optimizer_state_bytes = loop.state_bytes();
    session.finished = true;  // before all is torn down
  }
  if (session.error) return tl::unexpected(*session.error);
  run.tape = std::move(session.tape);
  run.is_pipeline = true;
  return run;
}

}  // namespace memtape::torchtitan
