// SPDX-License-Identifier: Apache-2.0
#include "framework/torch/train_loop.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "framework/torch/clip_grad.h"
#include "framework/torch/grad_scaler.h"
#include "framework/torch/model_setup.h"
#include "framework/torch/optimizer.h"
#include "ghost/autocast.h"
#include "ghost/autograd/engine.h"
#include "ghost/autograd/node.h"
#include "ghost/ops/creation.h"
#include "tape/repeat.h"

namespace memtape::torch {
namespace {

using family::Batch;
class TrainLoop {
 public:
  TrainLoop(const TrainRecipe& recipe, family::PretrainedModel& model, ghost::Session& session)
      : recipe_(recipe),
        model_(model),
        session_(session),
        optimizer_(make_optimizer(recipe, trainable_parameters(model))) {
    if (recipe.precision == Precision::amp_fp16) scaler_.emplace();
  }

  void run() {
    run_steps();
    const Bytes gradients = statics_.gradient_bytes;
    statics_ = count_statics(model_);
    statics_.gradient_bytes = gradients;
    statics_.optimizer_state_bytes = optimizer_->state_bytes();
  }
  const StaticBytes& statics() const { return statics_; }

 private:
  /// All steps; the last is not run when the one before it came back to the state it began with.
  void run_steps() {
    std::size_t last_began = 0;
    for (int step = 0; step < kSteps - 1; ++step) {
      last_began = session_.tape.events.size();
      run_step(step);
    }
    if (is_steady(session_.tape, last_began))
      append_again(session_.tape, last_began, kSteps - 1);
    else
      run_step(kSteps - 1);
  }

  Batch make_batch() const {
    Batch batch;
    batch.input_ids = ghost::zeros({recipe_.micro_batch_size, recipe_.sequence_length},
                                   DType::int64, Category::input);
    batch.labels = batch.input_ids.clone();
    session_.set_category(batch.labels, Category::input);
    return batch;
  }

  Tensor forward(const Batch& batch) {
    if (!recipe_.autocasts()) return model_.forward(batch).loss;
    const ghost::AutocastContext autocast(true, recipe_.autocast_dtype());
    return model_.forward(batch).loss;
  }

  void run_step(int step) {
    Batch data;
    const auto micro_batches =
        static_cast<int>(std::min(recipe_.gradient_accumulation, kMostMicroBatches));
    for (int micro = 0; micro < micro_batches; ++micro) {
      session_.mark(Phase::forward, step, micro);
      data = make_batch();
      Tensor loss = forward(data);
      session_.mark(Phase::backward, step, micro);
      if (recipe_.gradient_accumulation > 1) loss = loss.div(2.0);
      ghost::backward(scaler_ ? scaler_->scale(loss) : loss);
    }
    if (session_.error) return;
    session_.mark(Phase::optimizer, step, 0);
    statics_.gradient_bytes = gradient_bytes(optimizer_->parameters());
    update_parameters();
  }

  void update_parameters() {
    if (scaler_) scaler_->unscale(*optimizer_);
    if (recipe_.max_grad_norm) clip_grad_norm(optimizer_->parameters());
    if (scaler_) {
      scaler_->step(*optimizer_);
      scaler_->update();
    } else {
      optimizer_->step();
    }
    optimizer_->zero_grad();
  }

  const TrainRecipe& recipe_;
  family::PretrainedModel& model_;
  ghost::Session& session_;
  std::unique_ptr<Optimizer> optimizer_;
  std::optional<GradScaler> scaler_;
  StaticBytes statics_;
};

}  // namespace

Result<TrainRun> run_training(const Config& config, const TrainRecipe& recipe,
                              const ghost::DeviceTraits& device, EqualLayerRuns runs) {
  if (const Result<void> known = check_optimizer(recipe.optimizer, recipe.optimizer_impl); !known)
    return tl::unexpected(known.error());
  ghost::Session session(device);
  session.repeats_layers = runs == EqualLayerRuns::written_down;
  session.mark(Phase::init, -1, 0);
  const auto model = build_model(config, recipe);
  if (!model) return tl::unexpected(model.error());
  TrainLoop loop(recipe, **model, session);
  loop.run();
  if (session.error) return tl::unexpected(*session.error);
  session.finished = true;
  return TrainRun{std::move(session.tape), loop.statics(), session.layers_differ};
}

Result<TrainRun> run_training(const Config& config, const TrainRecipe& recipe,
                              const ghost::DeviceTraits& device) {
  return run_equal_layers(
      [&](EqualLayerRuns runs) { return run_training(config, recipe, device, runs); });
}

}  // namespace memtape::torch
