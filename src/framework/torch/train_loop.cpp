// SPDX-License-Identifier: Apache-2.0
#include "framework/torch/train_loop.h"

#include <algorithm>
#include <optional>
#include <unordered_set>
#include <vector>

#include "framework/torch/built_parameters.h"
#include "framework/torch/clip_grad.h"
#include "framework/torch/freeze.h"
#include "framework/torch/grad_scaler.h"
#include "framework/torch/gradient_checkpointing.h"
#include "framework/torch/lora.h"
#include "framework/torch/optimizer.h"
#include "ghost/autocast.h"
#include "ghost/autograd/engine.h"
#include "ghost/autograd/node.h"
#include "ghost/ops/creation.h"

namespace memtape::torch {
namespace {

using family::Batch;
using nn::ModuleNode;

std::vector<Tensor> parameters_of(const ModuleNode& node) {
  std::vector<Tensor> found;
  const auto walk = [&](const auto& self, const ModuleNode& at) -> void {
    for (const ModuleNode::Named& p : at.parameters) found.push_back(p.tensor);
    for (const ModuleNode* child : at.children) self(self, *child);
  };
  walk(walk, node);
  return found;
}

class TrainLoop {
 public:
  TrainLoop(const TrainRecipe& recipe, family::PretrainedModel& model, ghost::Session& session)
      : recipe_(recipe),
        model_(model),
        session_(session),
        optimizer_(make_optimizer(recipe, trainable())) {
    if (recipe.precision == Precision::amp_fp16) scaler_.emplace();
  }

  void run() {
    for (int step = 0; step < kSteps; ++step) run_step(step);
    count_statics();
  }
  const StaticBytes& statics() const { return statics_; }

 private:
  std::vector<Tensor> trainable() const {
    std::vector<Tensor> wanted;
    std::unordered_set<const ghost::TensorImpl*> seen;
    for (const Tensor& p : parameters_of(model_.tree.root()))
      if (p.requires_grad() && seen.insert(p.ptr().get()).second) wanted.push_back(p);
    return wanted;
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
    session_.mark(Phase::optimizer, step, 0);
    statics_.gradient_bytes = gradient_bytes();
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

  Bytes gradient_bytes() const {
    Bytes bytes = 0;
    for (const Tensor& p : optimizer_->parameters())
      if (p.impl().grad) bytes += p.grad().nbytes();
    return bytes;
  }

  void count_statics() {
    std::unordered_set<const ghost::Storage*> seen;
    for (const Tensor& p : parameters_of(model_.tree.root())) {
      if (!seen.insert(p.impl().storage.get()).second) continue;
      statics_.parameters += p.numel();
      statics_.parameter_bytes += p.nbytes();
      if (p.requires_grad()) statics_.trainable_parameters += p.numel();
    }
    const auto walk = [&](const auto& self, const ModuleNode& at) -> void {
      for (const ModuleNode::Named& b : at.buffers) statics_.buffer_bytes += b.tensor.nbytes();
      for (const ModuleNode* child : at.children) self(self, *child);
    };
    walk(walk, model_.tree.root());
    statics_.optimizer_state_bytes = optimizer_->state_bytes();
  }

  const TrainRecipe& recipe_;
  family::PretrainedModel& model_;
  ghost::Session& session_;
  std::unique_ptr<Optimizer> optimizer_;
  std::optional<GradScaler> scaler_;
  StaticBytes statics_;
};

family::AttentionImplementation attention_of(AttentionChoice choice) {
  if (choice == AttentionChoice::eager) return family::AttentionImplementation::eager;
  return choice == AttentionChoice::flash ? family::AttentionImplementation::flash
                                          : family::AttentionImplementation::sdpa;
}

/// What is done to the model between building it and making the optimizer.
Result<void> prepare(family::PretrainedModel& model, const TrainRecipe& recipe,
                     const Config& config) {
  if (recipe.lora)
    if (const Result<void> added = add_lora(model, *recipe.lora, config.text("model_type", ""));
        !added)
      return added;
  freeze(nn::named_parameters(model.tree.root(), std::string(recipe.lora ? kPeftPrefix : "")),
         recipe.freeze);
  if (recipe.checkpointing == Checkpointing::full)
    enable_gradient_checkpointing(model, nn::GradientCheckpointing::non_reentrant);
  if (recipe.checkpointing == Checkpointing::full_reentrant)
    enable_gradient_checkpointing(model, nn::GradientCheckpointing::reentrant);
  return {};
}

}  // namespace

Result<TrainRun> run_training(const Config& config, const TrainRecipe& recipe,
                              const ghost::DeviceTraits& device) {
  const Result<const family::Family*> family =
      family::find_family(config, family_task(recipe.task));
  if (!family) return tl::unexpected(family.error());
  if (const Result<void> known = check_optimizer(recipe.optimizer, recipe.optimizer_impl); !known)
    return tl::unexpected(known.error());
  ghost::Session session(device);
  session.mark(Phase::init, -1, 0);
  TrainRun run;
  {
    const auto model = (*family)->build(
        config, {.dtype = recipe.parameter_dtype(), .attention = attention_of(recipe.attention)});
    if (!model) return tl::unexpected(config.check().error());
    if (const Result<void> ready = prepare(*model, recipe, config); !ready)
      return tl::unexpected(ready.error());
    TrainLoop loop(recipe, *model, session);
    loop.run();
    run.statics = loop.statics();
    if (session.error) return tl::unexpected(*session.error);
    session.finished = true;
    run.tape = std::move(session.tape);
  }
  return run;
}

}  // namespace memtape::torch
