// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/accelerate_loop.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "family/caches/key_value_cache.h"
#include "framework/torch/grad_scaler.h"
#include "framework/torch/model_setup.h"
#include "framework/torch/optimizer.h"
#include "framework/transformers/batches.h"
#include "framework/transformers/decay_parameters.h"
#include "framework/transformers/gather.h"
#include "framework/transformers/parallel_model.h"
#include "framework/transformers/prepared_model.h"
#include "framework/transformers/trainer_recipe.h"
#include "framework/transformers/training_cache.h"
#include "ghost/autograd/engine.h"
#include "ghost/autograd/node.h"
#include "ghost/ops/creation.h"

namespace memtape::transformers {
namespace {

using family::KeyValueCache;
using ghost::Tensor;

/// As many batches of an evaluation as show its peak: only losses pile up.
constexpr int kEvaluationBatches = 3;

bool is_language_model(Task task) { return task == Task::causal_lm || task == Task::masked_lm; }

/// The examples of language models take Trainer's patterns, the others look for parts of names.
GroupedParameters example_groups(const TrainRecipe& recipe, family::PretrainedModel& model) {
  if (is_language_model(recipe.task)) return grouped_parameters(model);
  constexpr auto kNoDecay =
      std::to_array<std::string_view>({"bias", "LayerNorm.weight", "layer_norm.weight"});
  const std::size_t known = recipe.task == Task::seq2seq_lm ? kNoDecay.size() : 2;
  return grouped_by_parts(model, std::span(kNoDecay).first(known));
}

class AccelerateLoop {
 public:
  AccelerateLoop(const TrainRecipe& recipe, family::PretrainedModel& model, bool caches, int rank)
      : recipe_(recipe),
        model_(model),
        prepared_(recipe, model),
        caches_(caches),
        rank_(rank),
        session_(ghost::session()) {
    if (recipe.precision == Precision::amp_fp16) scaler_.emplace();
  }

  torch::StaticBytes train() {
    prepare();
    Bytes gradients = 0;
    for (int step = 0; step < torch::kSteps && !session_.error; ++step) gradients = update(step);
    if (recipe_.evaluation.runs) evaluate();
    torch::StaticBytes statics = wrapper_->statics();
    statics.gradient_bytes = gradients;
    statics.optimizer_state_bytes = optimizer_->state_bytes();
    return statics;
  }

 private:
  /// The outputs of model(**batch); their cache is one of them.
  struct Outputs {
    family::ModelOutput tensors;
    std::unique_ptr<KeyValueCache> past_key_values;
  };

  /// The optimizer is made before accelerator.prepare, of parameters on the host.
  void prepare() {
    GroupedParameters grouped = example_groups(recipe_, model_);
    wrapper_ = prepare_parallel(model_, recipe_, rank_);
    prepared_.wrap_in(*wrapper_);
    optimizer_ = torch::make_optimizer(recipe_, std::move(grouped.parameters));
    optimizer_->second_group_from(grouped.decayed);
  }

  /// DataLoaderShard sends a batch to the GPU while the loop still holds the one before.
  void next_batch(std::int64_t rows) {
    Inputs batch = collated_batch(recipe_, model_, rows);
    batch_ = std::move(batch);
  }

  void call_model() {
    std::unique_ptr<KeyValueCache> cache;
    if (caches_)
      cache = std::make_unique<KeyValueCache>(
          KeyValueCache::Settings{.sliding_windows = model_.sliding_windows()});
    const KeyValueCache::Passed passed(cache.get());
    family::ModelOutput outputs = prepared_(batch_);
    outputs_ = {std::move(outputs), std::move(cache)};
    loss_ = outputs_.tensors.loss;
  }

  /// Accelerator.backward divides by gradient_accumulation_steps, whatever it is.
  void backward() const {
    const Tensor loss = loss_.div(1.0);
    ghost::backward(scaler_ ? scaler_->scale(loss) : loss);
  }

  /// The micro-batches between two updates; gives the bytes of the gradients.
  Bytes update(int step) {
    const auto micro_batches =
        static_cast<int>(std::min(recipe_.gradient_accumulation, torch::kMostMicroBatches));
    for (int micro = 0; micro < micro_batches; ++micro) {
      session_.mark(Phase::forward, step, micro);
      next_batch(recipe_.micro_batch_size);
      wrapper_->set_gradient_sync(micro + 1 == micro_batches);
      call_model();
      session_.mark(Phase::backward, step, micro);
      backward();
    }
    if (session_.error) return 0;
    session_.mark(Phase::optimizer, step, 0);
    const Bytes gradients = torch::gradient_bytes(optimizer_->parameters());
    optimizer_step();
    optimizer_->zero_grad();
    return gradients;
  }

  /// GradScaler.step unscales by itself.
  void optimizer_step() {
    if (!scaler_) return optimizer_->step();
    if (!optimizer_->step_supports_amp_scaling()) scaler_->unscale(*optimizer_);
    scaler_->step(*optimizer_);
    scaler_->update();
  }

  /// losses.append(accelerator.gather_for_metrics(loss.repeat(batch_size)))
  void evaluate() {
    session_.mark(Phase::evaluation, torch::kSteps - 1, 0);
    const bool training = std::exchange(session_.training, false);
    if (parallelism_of(recipe_) == Parallelism::ddp) prepared_.unwrap();
    std::vector<Tensor> losses;
    for (int i = 0; i < kEvaluationBatches && !session_.error; ++i) {
      next_batch(recipe_.evaluation.batch_size);
      const ghost::GradMode no_grad(false);
      call_model();
      losses.push_back(gather_repeated(loss_, recipe_.evaluation.batch_size, recipe_.layout.gpus));
    }
    session_.training = training;
  }

  const TrainRecipe& recipe_;
  family::PretrainedModel& model_;
  PreparedModel prepared_;
  const bool caches_;
  const int rank_;
  ghost::Session& session_;
  std::unique_ptr<torch::DrivenModel> wrapper_;
  std::unique_ptr<torch::Optimizer> optimizer_;
  mutable std::optional<torch::GradScaler> scaler_;

  // Locals of main(), which live from step to step.
  Inputs batch_;
  Outputs outputs_;
  Tensor loss_;
};

Result<torch::TrainRun> run_loop(const Config& config, const TrainRecipe& recipe,
                                 const ghost::DeviceTraits& device, int rank,
                                 torch::EqualLayerRuns runs) {
  ghost::Session session(device, recipe.release);
  // A cache that outlives the pass holds tensors of each layer, so each has to run.
  const bool caches = makes_cache(config, recipe);
  session.repeats_layers = runs == torch::EqualLayerRuns::written_down && !caches;
  session.mark(Phase::init, -1, 0);
  const auto model = torch::build_model(config, recipe);
  if (!model) return tl::unexpected(model.error());
  AccelerateLoop loop(recipe, **model, caches, rank);
  const torch::StaticBytes statics = loop.train();
  if (session.error) return tl::unexpected(*session.error);
  session.finished = true;
  return torch::TrainRun{std::move(session.tape), statics, session.layers_differ};
}

/// What has been laid beside real runs.
Result<void> check_loop(const Config& config, const TrainRecipe& recipe) {
  const TrainerRecipe& trainer = trainer_of(recipe);
  constexpr const char* kWithoutTrainer = "a loop without Trainer";
  if (trainer.fsdp || trainer.deepspeed)
    return unsupported("a loop without Trainer is modelled on one GPU and over DDP",
                       trainer.fsdp ? "--fsdp" : "--deepspeed", "leave it out");
  if (recipe.quantization || recipe.use_liger_kernel || trainer.neftune_noise_alpha ||
      recipe.program.cut_cross_entropy || trainer.label_smoothing_factor != 0.0 ||
      recipe.bitsandbytes_optim)
    return unsupported("this is Trainer's", kWithoutTrainer, "--trainer trainer");
  if (recipe.task == Task::seq2seq_lm && caches_in_training(config))
    return unsupported("the keys and values that T5 caches while it trains are not modelled",
                       kWithoutTrainer, "BART and its kin");
  if (const Result<void> fine = check_parallel(recipe); !fine) return fine;
  return torch::check_optimizer(recipe.optimizer, recipe.optimizer_impl);
}

}  // namespace

Result<torch::TrainRun> run_accelerate_loop(const Config& config, const TrainRecipe& recipe,
                                            const ghost::DeviceTraits& device, int rank) {
  if (const Result<void> fine = check_loop(config, recipe); !fine)
    return tl::unexpected(fine.error());
  if (parallelism_of(recipe) != Parallelism::none)
    return run_loop(config, recipe, device, rank, torch::EqualLayerRuns::all_run);
  return torch::run_equal_layers(
      [&](torch::EqualLayerRuns runs) { return run_loop(config, recipe, device, rank, runs); });
}

}  // namespace memtape::transformers
