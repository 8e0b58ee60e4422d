// SPDX-License-Identifier: Apache-2.0
#include "framework/torch/train_loop.h"
#include "framework/torch/cast_batch.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "framework/torch/clip_grad.h"
#include "framework/torch/grad_scaler.h"
#include "framework/torch/import_dynamo.h"
#include "framework/torch/inductor/model_graph.h"
#include "framework/torch/init_device.h"
#include "framework/torch/model_setup.h"
#include "framework/torch/optimizer.h"
#include "framework/torch/optimizer_in_backward.h"
#include "framework/torch/zero_batch.h"
#include "ghost/autocast.h"
#include "ghost/autograd/engine.h"
#include "ghost/autograd/node.h"
#include "tape/repeat.h"

namespace memtape::torch {
namespace {

using family::Batch;
class TrainLoop {
 public:
  TrainLoop(const TrainRecipe& recipe, DrivenModel& model, const LoopHabits& habits)
      : recipe_(recipe),
        model_(model),
        habits_(habits),
        session_(ghost::session()),
        optimizer_(model.make_optimizer(recipe)) {
    model.set_up(*optimizer_);
    if (recipe.precision == Precision::amp_fp16) scaler_.emplace();
  }

  StaticBytes run() {
    if (session_.error) return {};
    run_steps();
    StaticBytes statics = model_.statics();
    statics.gradient_bytes = gradient_bytes_;
    statics.optimizer_state_bytes = optimizer_->state_bytes();
    return statics;
  }

 private:
  void run_steps() {
    const auto run = [this](int step) {
      run_step(step);
      return !session_.error;
    };
    if (!habits_.steps_differ) return memtape::run_steps(session_.tape, kSteps, run);
    for (int step = 0; step < kSteps; ++step)
      if (!run(step)) return;
  }

  Batch make_batch() const {
    return zero_batch(
        model_.model(), recipe_,
        habits_.labels_are_inputs ? LabelsOfInputs::same_tensor : LabelsOfInputs::copy);
  }

  Tensor forward(const Batch& batch) {
    if (!recipe_.autocasts()) return model_.loss_of(batch);
    const ghost::AutocastContext autocast(true, recipe_.autocast_dtype());
    return model_.loss_of(batch);
  }

  void run_step(int step) {
    const auto micro_batches =
        static_cast<int>(std::min(recipe_.gradient_accumulation, kMostMicroBatches));
    std::vector<Tensor> losses;
    for (std::int64_t more = micro_batches; keeps_losses() && more < recipe_.gradient_accumulation;
         ++more)
      losses.push_back(ghost::empty({}, DType::float32));
    for (int micro = 0; micro < micro_batches; ++micro) {
      session_.mark(Phase::forward, step, micro);
      model_.set_gradient_sync(micro + 1 == micro_batches);
      data_ = make_batch();
      Tensor loss = forward(data_);
      session_.mark(Phase::backward, step, micro);
      if (recipe_.gradient_accumulation > 1) loss = loss.div(2.0);
      ghost::backward(scaler_ ? scaler_->scale(loss) : loss);
      if (keeps_losses()) losses.push_back(loss.detach());
      loss.reset();
      if (habits_.labels_are_inputs) data_ = {};
    }
    if (session_.error) return;
    session_.mark(Phase::optimizer, step, 0);
    gradient_bytes_ = gradient_bytes(optimizer_->parameters());
    update_parameters();
    if (!habits_.keeps_batch) const Batch gone = std::exchange(data_, {});
  }

  bool keeps_losses() const { return habits_.keeps_losses && recipe_.gradient_accumulation > 1; }

  void update_parameters() {
    const ghost::HostGuard host(model_.updates_on_host());
    if (scaler_) scaler_->unscale(*optimizer_);
    if (recipe_.max_grad_norm) model_.clip_grad_norm(optimizer_->parameters());
    if (scaler_) {
      scaler_->step(*optimizer_);
      scaler_->update();
    } else {
      optimizer_->step();
    }
    optimizer_->zero_grad();
  }

  const TrainRecipe& recipe_;
  DrivenModel& model_;
  const LoopHabits habits_;
  ghost::Session& session_;
  std::unique_ptr<Optimizer> optimizer_;
  std::optional<GradScaler> scaler_;
  Batch data_;
  Bytes gradient_bytes_ = 0;
};

}  // namespace

std::vector<Tensor> DrivenModel::parameters() { return trainable_parameters(model_); }

family::ModelOutput DrivenModel::forward(const Forward& module, const family::Batch& batch) {
  family::ModelOutput output;
  call([&]() -> Outputs {
    output = module(cast_batch(scattered(batch), casts_inputs_to()));
    return {&output.loss, &output.logits, &output.encoder_last_hidden_state, &output.end_logits};
  });
  return output;
}

std::unique_ptr<Optimizer> DrivenModel::make_optimizer(const TrainRecipe& recipe) {
  const ghost::HostGuard host(updates_on_host());  // some make their states at once
  return torch::make_optimizer(recipe, parameters());
}

Tensor DrivenModel::loss_of(const Batch& batch) {
  return forward([this](const Batch& inputs) { return model_.forward(inputs); }, batch).loss;
}

Tensor DrivenModel::clip_grad_norm(const std::vector<Tensor>& parameters) {
  return torch::clip_grad_norm(parameters);
}

StaticBytes DrivenModel::statics() { return count_statics(model_); }

StaticBytes run_steps(const TrainRecipe& recipe, DrivenModel& model, const LoopHabits& habits) {
  TrainLoop loop(recipe, model, habits);
  const StaticBytes statics = loop.run();
  ghost::session().finished = true;  // before the optimizer is torn down
  return statics;
}

namespace {

/// The model where the recipe wants it made.
Result<std::unique_ptr<family::PretrainedModel>> make_model(const Config& config,
                                                            const TrainRecipe& recipe) {
  const ghost::HostGuard elsewhere(init_device(recipe) != InitDevice::cuda);
  if (init_device(recipe) == InitDevice::cuda) import_dynamo_on_device();
  return build_model(config, recipe);
}

struct Program {
  const Wrap& wrap;
  LoopHabits habits;
  EqualLayerRuns runs = EqualLayerRuns::all_run;
  bool wrap_moves_model = false;  ///< to the GPU, from where it was made
};

Result<TrainRun> run_program(const Config& config, const TrainRecipe& recipe,
                             const ghost::DeviceTraits& device, const Program& program) {
  if (const Result<void> known = check_optimizer(recipe.optimizer, recipe.optimizer_impl); !known)
    return tl::unexpected(known.error());
  ghost::Session session(device, recipe.release);
  session.repeats_layers = program.runs == EqualLayerRuns::written_down;
  session.mark(Phase::init, -1, 0);
  const auto model = make_model(config, recipe);
  if (!model) return tl::unexpected(model.error());
  if (!program.wrap_moves_model) move_to_device((*model)->tree.root());
  const std::unique_ptr<DrivenModel> driven = program.wrap(**model);
  if (session.error) return tl::unexpected(*session.error);
  if (program.habits.empties_cache) session.tape.empty_cache();
  const StaticBytes statics = run_steps(recipe, *driven, program.habits);
  if (session.error) return tl::unexpected(*session.error);
  return TrainRun{std::move(session.tape), statics, session.layers_differ};
}

/// torch.compile(model) before the loop.
Result<TrainRun> run_compiled(const Config& config, const TrainRecipe& recipe,
                              const ghost::DeviceTraits& device) {
  const auto graph = inductor::trace_model(config, recipe, device);
  if (!graph) return tl::unexpected(graph.error());
  const Wrap compiled = [&](family::PretrainedModel& model) {
    return std::make_unique<inductor::CompiledModel>(model, *graph);
  };
  return run_program(config, recipe, device, {.wrap = compiled, .habits = {}});
}

/// The bare model, whose parameters have an optimizer each.
class ModelSteppingInBackward final : public DrivenModel {
 public:
  using DrivenModel::DrivenModel;
  std::unique_ptr<Optimizer> make_optimizer(const TrainRecipe& recipe) override {
    return make_optimizer_in_backward(recipe, parameters());
  }
};

}  // namespace

Result<TrainRun> run_training(const Config& config, const TrainRecipe& recipe,
                              const ghost::DeviceTraits& device, EqualLayerRuns runs) {
  const Result<bool> in_backward = steps_in_backward(recipe);
  if (!in_backward) return tl::unexpected(in_backward.error());
  if (*in_backward) {
    const Wrap stepping = [](family::PretrainedModel& model) {
      return std::make_unique<ModelSteppingInBackward>(model);
    };
    return run_program(config, recipe, device, {.wrap = stepping, .habits = {}});
  }
  if (recipe.compile) return run_compiled(config, recipe, device);
  const Wrap bare = [](family::PretrainedModel& model) {
    return std::make_unique<DrivenModel>(model);
  };
  return run_program(config, recipe, device, {.wrap = bare, .habits = {}, .runs = runs});
}

Result<TrainRun> run_training(const Config& config, const TrainRecipe& recipe,
                              const ghost::DeviceTraits& device) {
  return run_equal_layers(
      [&](EqualLayerRuns runs) { return run_training(config, recipe, device, runs); });
}

Result<TrainRun> run_wrapped(const Config& config, const TrainRecipe& recipe,
                             const ghost::DeviceTraits& device, const Wrap& wrap,
                             bool steps_differ) {
  return run_program(
      config, recipe, device,
      {.wrap = wrap,
       .habits = {.labels_are_inputs = true, .empties_cache = true, .steps_differ = steps_differ},
       .runs = EqualLayerRuns::all_run,
       .wrap_moves_model = true});
}

}  // namespace memtape::torch
