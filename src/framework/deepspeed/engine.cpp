// SPDX-License-Identifier: Apache-2.0
#include "framework/deepspeed/engine.h"

#include <algorithm>

#include "framework/deepspeed/initialize.h"
#include "framework/deepspeed/zero_init.h"
#include "framework/torch/init_device.h"
#include "framework/torch/model_setup.h"
#include "framework/torch/zero_batch.h"
#include "tape/repeat.h"

namespace memtape::deepspeed {
namespace {

using family::Batch;

/// The plain loop around an engine.
class PlainLoop {
 public:
  PlainLoop(family::PretrainedModel& model, const DsConfig& config, const TrainRecipe& recipe,
            Rank rank)
      : model_(model),
        recipe_(recipe),
        session_(ghost::session()),
        engine_(model, config, recipe, rank) {
    session_.tape.empty_cache();
  }

  torch::StaticBytes train() {
    if (session_.error) return {};
    run_steps(session_.tape, torch::kSteps, [this](int step) {
      run_step(step);
      return !session_.error;
    });
    session_.finished = true;
    return engine_.statics();
  }

 private:
  void run_step(int step) {
    const auto micro_batches =
        static_cast<int>(std::min(recipe_.gradient_accumulation, torch::kMostMicroBatches));
    for (int micro = 0; micro < micro_batches; ++micro) {
      session_.mark(Phase::forward, step, micro);
      Batch data = torch::zero_batch(model_, recipe_, torch::LabelsOfInputs::same_tensor);
      Tensor loss =
          engine_.forward([this](const Batch& b) { return model_.forward(b); }, data).loss;
      session_.mark(Phase::backward, step, micro);
      engine_.backward(loss, micro + 1 == micro_batches, Engine::Scaling::by_accumulation);
      loss.reset();
    }
    if (session_.error) return;
    session_.mark(Phase::optimizer, step, 0);
    engine_.step();
  }

  family::PretrainedModel& model_;
  const TrainRecipe& recipe_;
  ghost::Session& session_;
  Engine engine_;
};

/// _configure_distributed_model: the dtype is changed before the device.
Result<std::unique_ptr<family::PretrainedModel>> make_model(const Config& config,
                                                            const TrainRecipe& recipe,
                                                            DsConfig& ds_config) {
  if (ds_config.makes_under_zero_init) {
    ds_config.zero_init = std::make_shared<ZeroInit>(ds_config, recipe.layout.gpus);
    return make_under_zero_init(config, recipe, *ds_config.zero_init);
  }
  auto model = [&] {
    const ghost::HostGuard host(torch::init_device(recipe) != InitDevice::cuda);
    auto made = torch::build_model(config, recipe);
    if (made && ghost::session().on_host) cast_parameters(**made, ds_config.model_dtype);
    return made;
  }();
  if (model) torch::move_to_device((*model)->tree.root());
  return model;
}

}  // namespace

Result<torch::TrainRun> run_training(const Config& config, const TrainRecipe& recipe,
                                     const DsConfig& of_all_ranks,
                                     const ghost::DeviceTraits& device, int rank) {
  ghost::Session session(device, recipe.release);  // outlives what was cut under zero.Init
  DsConfig ds_config = of_all_ranks;               // which this rank's zero.Init is put into
  session.mark(Phase::init, -1, 0);
  const auto model = make_model(config, recipe, ds_config);
  if (!model) return tl::unexpected(model.error());
  if (session.error) return tl::unexpected(*session.error);
  PlainLoop loop(**model, ds_config, recipe, {rank, recipe.layout.gpus});
  const torch::StaticBytes statics = loop.train();
  if (session.error) return tl::unexpected(*session.error);
  return torch::TrainRun{std::move(session.tape), statics, false};
}

}  // namespace memtape::deepspeed
