// SPDX-License-Identifier: Apache-2.0
#include "framework/deepspeed/engine.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "family/masking.h"
#include "framework/deepspeed/bf16_optimizer.h"
#include "framework/deepspeed/ds_config.h"
#include "framework/deepspeed/stage3.h"
#include "framework/deepspeed/stage_1_and_2.h"
#include "framework/deepspeed/unpartitioned.h"
#include "framework/torch/model_setup.h"
#include "ghost/autograd/engine.h"
#include "ghost/ops/creation.h"
#include "tape/repeat.h"

namespace memtape::deepspeed {
namespace {

using family::Batch;

/// _cast_module_mixed_precision: parameters in another dtype are cast one by one; buffers stay.
void cast_parameters(family::PretrainedModel& model, DType dtype) {
  const ghost::GradMode no_grad(false);
  for (const Tensor& p : nn::parameters(model.tree.root())) {
    if (!p.is_floating_point() || p.dtype() == dtype) continue;
    const Tensor cast = p.to(dtype);
    ghost::session().set_category(cast, Category::parameter);
    p.impl().storage = cast.impl().storage;
    p.impl().dtype = dtype;
  }
}

std::unique_ptr<EngineOptimizer> make_engine_optimizer(family::PretrainedModel& model,
                                                       const DsConfig& config,
                                                       const TrainRecipe& recipe, Rank rank) {
  if (config.zero.stage == 3) return std::make_unique<Stage3>(model, config, recipe, rank);
  std::vector<Tensor> parameters = torch::trainable_parameters(model);
  if (config.uses_bf16_optimizer())
    return std::make_unique<Bf16Optimizer>(std::move(parameters), config, recipe, rank);
  if (config.zero.stage == 0) return make_unpartitioned(std::move(parameters), config, recipe);
  return std::make_unique<Stage1And2>(std::move(parameters), config, recipe, rank);
}

/// DeepSpeedEngine, and the plain loop around it.
class Engine {
 public:
  Engine(family::PretrainedModel& model, const DsConfig& config, const TrainRecipe& recipe,
         Rank rank)
      : model_(model),
        recipe_(recipe),
        session_(ghost::session()),
        packed_sequences_(config.packed_sequences),
        offloads_optimizer_(config.zero.offload_optimizer) {
    cast_parameters(model, config.model_dtype);
    whole_ = torch::count_statics(model);
    optimizer_ = make_engine_optimizer(model, config, recipe, rank);
    session_.tape.empty_cache();
  }

  torch::StaticBytes train() {
    run_steps();
    torch::StaticBytes statics = whole_;
    if (const auto bytes = optimizer_->parameter_bytes()) statics.parameter_bytes = *bytes;
    if (!offloads_optimizer_) {  // else the host holds them
      statics.gradient_bytes = optimizer_->gradient_bytes();
      statics.optimizer_state_bytes =
          optimizer_->basic().state_bytes() + optimizer_->master_bytes();
    }
    session_.finished = true;
    return statics;
  }

 private:
  /// All steps; the last is not run when the one before it came back to the state it began with.
  void run_steps() {
    std::size_t last_began = 0;
    for (int step = 0; step < torch::kSteps - 1; ++step) {
      last_began = session_.tape.events.size();
      run_step(step);
    }
    if (is_steady(session_.tape, last_began))
      append_again(session_.tape, last_began, torch::kSteps - 1);
    else
      run_step(torch::kSteps - 1);
  }

  void run_step(int step) {
    const auto micro_batches =
        static_cast<int>(std::min(recipe_.gradient_accumulation, torch::kMostMicroBatches));
    for (int micro = 0; micro < micro_batches; ++micro) {
      session_.mark(Phase::forward, step, micro);
      Batch data = make_batch();
      Tensor loss = forward(data);
      session_.mark(Phase::backward, step, micro);
      backward(loss, micro + 1 == micro_batches);
      loss.reset();
    }
    if (session_.error) return;
    session_.mark(Phase::optimizer, step, 0);
    take_model_step();
  }

  Batch make_batch() const {
    Batch batch;
    batch.input_ids = ghost::zeros({recipe_.micro_batch_size, recipe_.sequence_length},
                                   DType::int64, Category::input);
    batch.labels = batch.input_ids;
    return batch;
  }

  Tensor forward(const Batch& batch) {
    optimizer_->before_forward();
    const family::PackedSequences packed(packed_sequences_);
    optimizer_->before_module();
    family::ModelOutput output = model_.forward(batch);
    optimizer_->after_module({&output.loss, &output.logits});
    return output.loss;
  }

  void backward(const Tensor& loss, bool boundary) {
    const Tensor gas_scaled_loss = loss.div(2.0);
    const Tensor scaled = optimizer_->scale_if_loss(gas_scaled_loss);
    optimizer_->backward_prologue(boundary);
    ghost::backward(scaled);
    optimizer_->backward_epilogue(boundary);
  }

  void take_model_step() {
    optimizer_->step();
    global_grad_norm_ = optimizer_->global_grad_norm;
    optimizer_->zero_grad();
  }

  family::PretrainedModel& model_;
  const TrainRecipe& recipe_;
  ghost::Session& session_;
  bool packed_sequences_, offloads_optimizer_;
  torch::StaticBytes whole_;
  std::unique_ptr<EngineOptimizer> optimizer_;
  Tensor global_grad_norm_;
};

}  // namespace

Result<torch::TrainRun> run_training(const Config& config, const TrainRecipe& recipe,
                                     const ghost::DeviceTraits& device, int rank) {
  const Result<DsConfig> ds_config = read_ds_config(config, recipe);
  if (!ds_config) return tl::unexpected(ds_config.error());
  ghost::Session session(device);
  session.mark(Phase::init, -1, 0);
  const auto model = torch::build_model(config, recipe);
  if (!model) return tl::unexpected(model.error());
  if (torch::trainable_parameters(**model).empty())
    return bad_input("no parameter is left to train", "--freeze", "a pattern that leaves some");
  Engine engine(**model, *ds_config, recipe, {rank, recipe.layout.gpus});
  const torch::StaticBytes statics = engine.train();
  if (session.error) return tl::unexpected(*session.error);
  return torch::TrainRun{std::move(session.tape), statics, false};
}

}  // namespace memtape::deepspeed
