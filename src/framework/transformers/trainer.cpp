// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/trainer.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/pattern.h"
#include "family/caches/key_value_cache.h"
#include "framework/deepspeed/evaluation_engine.h"
#include "framework/deepspeed/initialize.h"
#include "framework/fsdp1/fully_sharded_data_parallel.h"
#include "framework/torch/grad_scaler.h"
#include "framework/torch/gradient_checkpointing.h"
#include "framework/torch/init_device.h"
#include "framework/torch/model_setup.h"
#include "framework/torch/optimizer.h"
#include "framework/transformers/accelerate_loop.h"
#include "framework/transformers/arguments/optim_arguments.h"
#include "framework/transformers/axolotl/lora_kernels.h"
#include "framework/transformers/batches.h"
#include "framework/transformers/create_optimizer.h"
#include "framework/transformers/cut_cross_entropy.h"
#include "framework/transformers/decay_parameters.h"
#include "framework/transformers/deepspeed_model.h"
#include "framework/transformers/disable_dropout.h"
#include "framework/transformers/evaluation_loop.h"
#include "framework/transformers/liger/apply.h"
#include "framework/transformers/llama_factory/trained_layers.h"
#include "framework/transformers/make_objective.h"
#include "framework/transformers/micro_batch.h"
#include "framework/transformers/packed_model.h"
#include "framework/transformers/parallel_model.h"
#include "framework/transformers/prepared_model.h"
#include "framework/transformers/quantized_model.h"
#include "framework/transformers/trainer_checks.h"
#include "framework/transformers/trainer_objective.h"
#include "framework/transformers/trainer_recipe.h"
#include "framework/transformers/training_cache.h"
#include "ghost/autograd/engine.h"
#include "ghost/autograd/node.h"
#include "ghost/ops/comparisons.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/reductions.h"
#include "ghost/ops/sum_of_bools.h"
#include "model/type_of.h"
#include "nn/layers.h"
#include "release/trl_changes.h"

namespace memtape::transformers {
namespace {

using family::Batch;
using family::KeyValueCache;
using ghost::Tensor;

/// Whether the head's class is called ...ForCausalLM or ...ForConditionalGeneration and is no
/// encoder-decoder's: then position 0 of the labels counts for nothing
/// (Trainer._loss_shifts_labels). Of decoders only GPT-2's is called GPT2LMHeadModel.
bool loss_shifts_labels(const Config& config, const TrainRecipe& recipe) {
  return recipe.task == Task::image_text_to_text ||
         (recipe.task == Task::causal_lm && type_of(config) != "gpt2");
}

/// What a Trainer is made of: the model it trains, and trl's reference beside it, or null.
struct Models {
  family::PretrainedModel& trained;
  family::PretrainedModel* reference = nullptr;
  Engines engines;
};

class Trainer {
 public:
  Trainer(const TrainRecipe& recipe, const Models& models, bool shifts_labels, int rank)
      : recipe_(recipe),
        model_(models.trained),
        prepared_(recipe, model_),
        ds_config_(models.engines.trained),
        reference_(models.reference
                       ? std::optional<PreparedModel>(std::in_place, recipe, *models.reference,
                                                      PreparedModel::Role::reference)
                       : std::nullopt),
        objective_(make_objective(recipe, prepared_, reference_ ? &*reference_ : nullptr)),
        evaluated_(recipe, prepared_),
        session_(ghost::session()),
        shifts_labels_(shifts_labels),
        rank_(rank) {
    if (trainer_of(recipe).neftune_noise_alpha) activate_neftune();
    if (recipe.precision == Precision::amp_fp16)
      scaler_.emplace(parallelism_of(recipe) == Parallelism::fsdp1
                          ? torch::GradScaler::Kind::sharded
                          : torch::GradScaler::Kind::plain);
    if (!reference_) return;
    if (models.engines.reference) {
      prepare_deepspeed(models);
      return;
    }
    reference_wrapper_ = prepare_reference(*models.reference, recipe, rank);
    reference_->wrap_in(*reference_wrapper_);
  }

  /// apply_liger_kernel; it leaves the head to trl where trl has taken it (before, SFT's loss was
  /// the model's own), and classifiers theirs: it replaces the forward of ...ForCausalLM alone.
  Result<void> use_liger_kernels(std::string_view family) {
    if (!recipe_.use_liger_kernel) return {};
    const LigerRecipe& liger = trainer_of(recipe_).liger_kernel_config;
    if (const Result<void> done = liger::apply(model_, family, liger); !done) return done;
    const bool is_trls = recipe_.is_of_trl() &&
                         (!trainer_of(recipe_).sft || recipe_.release.has(changes::kTrlFusesHead));
    if (liger.fused_linear_cross_entropy && liger::has_fused_head(family) && !is_trls &&
        !is_classification(recipe_.task))
      prepared_.replace_forward(
          [this](const Batch& inputs) { return liger::lce_forward(model_, inputs); });
    return {};
  }

  /// axolotl's plugin patches the class before the model is loaded.
  Result<void> use_cut_cross_entropy(const Config& config) {
    if (!recipe_.program.cut_cross_entropy) return {};
    auto loss = cut_cross_entropy_of(config, model_);
    if (!loss) return tl::unexpected(loss.error());
    loss->scored = recipe_.scored_tokens;
    prepared_.replace_forward(
        [this, cut = *loss](const Batch& inputs) { return cce_forward(model_, inputs, cut); });
    return {};
  }

  Result<void> use_lora_kernels(const Config& config) {
    return axolotl::apply_lora_kernels(model_, config, recipe_,
                                       ds_config_ && ds_config_->zero.stage == 3);
  }

  Result<void> checkpoint_trained_layers() {
    auto hook = llama_factory::checkpoint_trained_layers(model_, recipe_);
    if (!hook) return tl::unexpected(hook.error());
    requires_grad_ = std::move(*hook);
    return {};
  }

  /// From now on the model caches while it trains (config.use_cache).
  void use_cache() { caches_ = true; }

  /// _inner_training_loop
  torch::StaticBytes train() {
    session_.tape.empty_cache();  // Accelerator.free_memory
    prepare_for_training();
    tr_loss_ = ghost::full({}, DType::float32, Category::buffer);
    Bytes gradients = 0;
    for (int step = 0; step < torch::kSteps && !session_.error; ++step) {
      gradients = update_step(step);
      if (evaluates_after(step)) evaluate(step);
    }
    torch::StaticBytes statics = wrapper_->statics();
    if (engine_) return statics;
    statics.gradient_bytes = gradients;
    statics.optimizer_state_bytes = optimizer_->state_bytes();
    if (created_.bitsandbytes) statics.managed_bytes = created_.bitsandbytes->managed_bytes();
    return statics;
  }

 private:
  /// trl's prepare_deepspeed (models/utils.py) over ZeRO 3.
  void prepare_deepspeed(const Models& models) {
    const deepspeed::DsConfig& config = *models.engines.reference;
    deepspeed::cast_buffers(*models.reference, config.model_dtype);
    auto engine = std::make_unique<deepspeed::EvaluationEngine>(*models.reference, config, recipe_);
    reference_->gather_with([engine = engine.get()](const std::vector<Tensor>& parameters) {
      return engine->gathered(parameters);
    });
    reference_wrapper_ = std::move(engine);
    reference_->wrap_in(*reference_wrapper_);
  }

  /// _prepare_for_training
  void prepare_for_training() {
    if (ds_config_) return initialize_deepspeed();
    wrapper_ = prepare_parallel(model_, recipe_, rank_);
    prepared_.wrap_in(*wrapper_);
    if (parallelism_of(recipe_) == Parallelism::fsdp1)
      prepared_.unwrap_with([this] { return fsdp1::summon_root(*wrapper_); });
    created_ = create_optimizer(recipe_, model_, *wrapper_);
    optimizer_ = created_.optimizer.get();
    optimizer_->move_state_to_gpu();
  }

  /// Accelerator._prepare_deepspeed
  void initialize_deepspeed() {
    const deepspeed::Rank rank{rank_, recipe_.layout.gpus};
    auto engine = std::make_unique<deepspeed::Engine>(model_, *ds_config_, recipe_, rank,
                                                      second_group(model_, recipe_));
    engine_ = engine.get();
    optimizer_ = &engine_->optimizer();
    wrapper_ = std::move(engine);
    prepared_.wrap_in(*wrapper_);
    if (ds_config_->zero.stage != 3) return;
    prepared_.gather_with(
        [this](const std::vector<Tensor>& parameters) { return engine_->gathered(parameters); });
    prepared_.unwrap_with([this] { return engine_->unwrapped(); });
  }

  /// integrations/neftune.py: a hook on the input embeddings. Those of an encoder-decoder are the
  /// shared table, whose own forward nobody calls.
  void activate_neftune() {
    if (recipe_.task == Task::seq2seq_lm) return;
    for (const nn::NamedModule& module : nn::named_modules(model_.tree.root()))
      if (module.node->embedding && torch::is_input_embedding(*module.node))
        module.node->embedding->adds_noise = true;
  }

  /// One turn of _run_epoch's outer loop; gives the bytes of the gradients.
  Bytes update_step(int step) {
    session_.mark(Phase::prepare, step, 0);
    get_batch_samples();
    for (std::size_t i = 0; i < batch_samples_.size(); ++i) {
      inputs_ = batch_samples_[i];
      wrapper_->set_gradient_sync(reduces_each_batch(recipe_) || i + 1 == batch_samples_.size());
      tr_loss_step_ = training_step(inputs_, {step, static_cast<int>(i)});
      look_for_nan(tr_loss_step_);
    }
    if (session_.error) return 0;
    if (engine_) {  // which keeps the norm; Trainer reads its number
      session_.mark(Phase::zero_grad, step, 0);
      return 0;
    }
    const Bytes gradients = torch::gradient_bytes(optimizer_->parameters());
    clip_grad_norm();
    session_.mark(Phase::optimizer, step, 0);
    optimizer_step();
    session_.mark(Phase::zero_grad, step, 0);
    optimizer_->zero_grad();
    objective_->end_step();
    return gradients;
  }

  /// An evaluation is due after the step that is measured, and eval_steps before.
  bool evaluates_after(int step) const {
    const std::optional<std::int64_t>& every = recipe_.evaluation.every_steps;
    const int before = torch::kSteps - 1 - step;
    return before == 0 || (every && before % *every == 0);
  }

  /// _maybe_log_save_evaluate
  /// Without gradients the model goes without DDP.
  void evaluate(int step) {
    if (!recipe_.evaluation.runs || session_.error) return;
    session_.mark(Phase::evaluation, step, 0);
    if (parallelism_of(recipe_) == Parallelism::ddp) prepared_.unwrap();
    nn::GradientCheckpointing& checkpointing = model_.tree.gradient_checkpointing;
    const auto before = std::exchange(checkpointing, nn::GradientCheckpointing::off);
    EvaluationLoop(recipe_, model_, evaluated_, recipe_.is_of_trl() ? objective_.get() : nullptr,
                   shifts_labels_)
        .run();
    checkpointing = before;
  }

  void get_batch_samples() {
    const auto count = std::min(recipe_.gradient_accumulation, torch::kMostMicroBatches);
    const std::int64_t rows = recipe_.micro_batch_size * recipe_.layout.replicas;
    std::vector<Inputs> samples;
    for (std::int64_t i = 0; i < count; ++i) samples.push_back(micro_batch(recipe_, model_, rows));
    if (!objective_->counts_items() || !samples.front().labels.defined()) {
      batch_samples_ = std::move(samples);
      return;
    }
    const Tensor counted = num_items_in_batch(recipe_, samples, shifts_labels_);
    for (Inputs& batch : samples) batch.num_items_in_batch = counted;
    batch_samples_ = std::move(samples);
  }

  struct Place {
    int step, micro_batch;
  };

  /// compute_loss, whose local outputs hold what the model has cached.
  Tensor compute_loss(const Inputs& inputs) {
    std::unique_ptr<KeyValueCache> past_key_values;
    if (caches_) past_key_values = std::make_unique<KeyValueCache>(KeyValueCache::Settings{});
    const KeyValueCache::Passed passed(past_key_values.get());
    return objective_->compute_loss(inputs);
  }

  Tensor training_step(const Inputs& inputs, Place place) {
    objective_->prepare_inputs();
    session_.mark(Phase::forward, place.step, place.micro_batch);
    Tensor loss = compute_loss(inputs);
    if (recipe_.layout.replicas > 1) loss = ghost::mean_all(loss);
    if (objective_->divides_loss() || !inputs.num_items_in_batch.defined()) loss = loss.div(1.0);
    if (empties_cache(place.step)) session_.tape.empty_cache();
    session_.mark(Phase::backward, place.step, place.micro_batch);
    const bool last = place.micro_batch + 1 == static_cast<int>(batch_samples_.size());
    if (engine_)
      engine_backward(loss, last, place);
    else
      accelerator_backward(loss);
    session_.mark(last ? Phase::clip : Phase::prepare, place.step, place.micro_batch);
    return loss.detach();
  }

  bool empties_cache(int global_step) const {
    const std::optional<std::int64_t>& every = trainer_of(recipe_).torch_empty_cache_steps;
    return every && global_step % *every == 0;
  }

  /// DeepSpeedEngineWrapper.backward: the step is taken at the end of it.
  void engine_backward(const Tensor& loss, bool last, Place place) {
    engine_->backward(loss, last, deepspeed::Engine::Scaling::none);
    if (!last) return;
    session_.mark(Phase::optimizer, place.step, place.micro_batch);
    engine_->step();
  }

  /// Accelerator.backward; its gradient_accumulation_steps is 1, Trainer has divided already.
  void accelerator_backward(const Tensor& original) {
    const Tensor loss = original.div(1.0);
    if (created_.lomo) return created_.lomo->fused_backward(loss);
    ghost::backward(scaler_ ? scaler_->scale(loss) : loss);
  }

  /// logging_nan_inf_filter: isnan(loss), then tr_loss += tr_loss / steps. The branch of a finite
  /// loss takes a flag more for isinf instead; neither comes near a peak.
  void look_for_nan(const Tensor& loss) const {
    const ghost::GradMode no_grad(false);
    {
      const Tensor isnan = ghost::isnan(loss);
    }
    const Tensor average = tr_loss_.div(2.0);
  }

  void clip_grad_norm() {
    grad_norm_.reset();
    if (scaler_) scaler_->unscale(*optimizer_);
    grad_norm_ = wrapper_->clip_grad_norm(optimizer_->parameters());
  }

  void optimizer_step() {
    const ghost::HostGuard host(wrapper_->updates_on_host());
    if (!scaler_) return optimizer_->step();
    scaler_->step(*optimizer_);
    scaler_->update();
  }

  const TrainRecipe& recipe_;
  family::PretrainedModel& model_;
  PreparedModel prepared_;
  std::optional<deepspeed::DsConfig> ds_config_;
  std::optional<PreparedModel> reference_;
  std::unique_ptr<Objective> objective_;
  TrainerObjective evaluated_;
  ghost::Session& session_;
  bool shifts_labels_, caches_ = false;
  int rank_;
  std::unique_ptr<torch::DrivenModel> wrapper_, reference_wrapper_;
  deepspeed::Engine* engine_ = nullptr;  ///< the wrapper, over DeepSpeed
  CreatedOptimizer created_;
  torch::Optimizer* optimizer_ = nullptr;  ///< the created one
  std::optional<torch::GradScaler> scaler_;
  std::unique_ptr<nn::ForwardHooks> requires_grad_;  ///< below the layers that are trained alone

  // Locals of _run_epoch, which live from step to step.
  std::vector<Inputs> batch_samples_;
  Inputs inputs_;
  Tensor tr_loss_, tr_loss_step_, grad_norm_;
};

/// SFTTrainer converts the adapters of a quantized base to bfloat16, all but DoRA's magnitudes.
void halve_adapters(family::PretrainedModel& model) {
  const ghost::GradMode no_grad(false);
  for (const nn::ModuleNode::Named& named : nn::named_parameters(model.tree.root())) {
    const Tensor& p = named.tensor;
    if (!p.requires_grad() || named.name.find("lora_magnitude_vector") != std::string::npos)
      continue;
    const Tensor half = p.to(DType::bfloat16);
    ghost::session().set_category(half, Category::parameter);
    p.impl().storage = half.impl().storage;
    p.impl().dtype = DType::bfloat16;
  }
}

/// What peft does to a quantized model before adapters come; packed GPTQ layers are spared the
/// cast.
Result<void> adapt_quantized(const QuantizedModel& loaded, const Config& config,
                             const TrainRecipe& recipe, bool is_gptq) {
  if (prepares_for_kbit(recipe)) prepare_model_for_kbit_training(*loaded.model, !is_gptq);
  return torch::adapt_model(*loaded.model, recipe, config);
}

/// axolotl's freeze_layers_except (utils/freeze.py): names that match from their beginning on.
Result<void> freeze_all_but(const std::string& expression, family::PretrainedModel& model) {
  if (expression.empty()) return {};
  bool trains = false;
  for (const nn::ModuleNode::Named& p : nn::named_parameters(model.tree.root())) {
    const std::optional<bool> matches = match_at_start(expression, p.name);
    if (!matches)
      return bad_input("is no expression that can be read", "unfrozen_parameters",
                       "literals, groups, classes and . * + ?");
    p.tensor.impl().requires_grad = *matches;
    trains = trains || *matches;
  }
  if (trains) return {};
  return bad_input("no parameter is left to train", "unfrozen_parameters",
                   "patterns that match names from their beginning on");
}

Result<QuantizedModel> load(const Config& config, const TrainRecipe& recipe,
                            const std::optional<deepspeed::DsConfig>& engine) {
  const auto packed = packed_checkpoint(config);
  if (packed && *packed) {
    Result<QuantizedModel> loaded = load_packed(config, recipe, **packed);
    if (!loaded) return loaded;
    const bool is_gptq = (*packed)->method == PackedCheckpoint::Method::gptq;
    if (const Result<void> ready = adapt_quantized(*loaded, config, recipe, is_gptq); !ready)
      return tl::unexpected(ready.error());
    return loaded;
  }
  if (!recipe.quantization) {
    auto model = make_model(config, recipe, engine);
    if (!model) return tl::unexpected(model.error());
    if (const auto frozen = freeze_all_but(trainer_of(recipe).unfrozen_parameters, **model);
        !frozen)
      return tl::unexpected(frozen.error());
    return QuantizedModel{std::move(*model), 0, {}};
  }
  Result<QuantizedModel> loaded = load_quantized(config, recipe);
  if (!loaded) return loaded;
  {
    const ghost::HostGuard host(torch::init_device(recipe) != InitDevice::cuda);
    if (const Result<void> ready = adapt_quantized(*loaded, config, recipe, false); !ready)
      return tl::unexpected(ready.error());
  }
  if (trl_halves_adapters(recipe))
    halve_adapters(*loaded->model);
  else if (recipe.is_of_trl() && recipe.precision == Precision::amp_bf16 &&
           !recipe.quantization->int8 && !trainer_of(recipe).fsdp)
    peft_module_casting_to_bf16(*loaded->model);
  return loaded;
}

/// A trainer's reference model: the same checkpoint once more, without adapters. None where
/// adapters can be switched off, or where its log-probabilities were computed before.
/// LLaMA-Factory's stays in the dtype that it was loaded in.
Result<std::unique_ptr<family::PretrainedModel>> load_reference(
    const Config& config, const TrainRecipe& recipe,
    const std::optional<deepspeed::DsConfig>& engine) {
  const bool wanted =
      (trainer_of(recipe).dpo && !trainer_of(recipe).dpo->precompute_ref_log_probs) ||
      (trainer_of(recipe).kto && !trainer_of(recipe).kto->precompute_ref_log_probs) ||
      (trainer_of(recipe).grpo && trainer_of(recipe).grpo->beta != 0.0) ||
      recipe.program.has_reference();
  if (!wanted || recipe.lora) return std::unique_ptr<family::PretrainedModel>();
  TrainRecipe plain = recipe;
  plain.checkpointing = Checkpointing::none;
  plain.program.trained_layers = 0;
  if (recipe.program.has_reference() && recipe.autocasts()) plain.weights = recipe.autocast_dtype();
  return make_model(config, plain, engine);
}

struct Place {
  int rank = 0;
  torch::EqualLayerRuns runs = torch::EqualLayerRuns::all_run;
};

Result<torch::TrainRun> run_trainer_program(const Config& config, const TrainRecipe& recipe,
                                            const Engines& of_all_ranks,
                                            const ghost::DeviceTraits& device, Place place) {
  ghost::Session session(device, recipe.release);
  // A cache that outlives the pass holds tensors of each layer, so each has to run.
  const bool caches = trainer_makes_cache(config, recipe);
  session.repeats_layers = place.runs == torch::EqualLayerRuns::written_down && !caches;
  session.mark(Phase::init, -1, 0);
  const Engines engines = engines_of_rank(of_all_ranks, recipe);
  const Result<QuantizedModel> loaded = load(config, recipe, engines.trained);
  if (!loaded) return tl::unexpected(loaded.error());
  if (const Result<void> headed = check_head(config, recipe, *loaded->model); !headed)
    return tl::unexpected(headed.error());
  const auto reference = load_reference(config, recipe, engines.reference);
  if (!reference) return tl::unexpected(reference.error());
  const Models models{*loaded->model, reference->get(), engines};
  Trainer trainer(recipe, models, loss_shifts_labels(config, recipe), place.rank);
  if (caches) trainer.use_cache();
  if (const Result<void> ready = trainer.use_liger_kernels(type_of(config)); !ready)
    return tl::unexpected(ready.error());
  if (const Result<void> ready = trainer.use_cut_cross_entropy(config); !ready)
    return tl::unexpected(ready.error());
  if (const Result<void> ready = trainer.use_lora_kernels(config); !ready)
    return tl::unexpected(ready.error());
  if (const Result<void> ready = trainer.checkpoint_trained_layers(); !ready)
    return tl::unexpected(ready.error());
  torch::StaticBytes statics = trainer.train();
  statics.parameters += loaded->packed_away;
  if (session.error) return tl::unexpected(*session.error);
  session.finished = true;
  return torch::TrainRun{std::move(session.tape), statics, session.layers_differ};
}

/// disable_dropout_in_model leaves the modules of adapters where they are.
void switch_off_dropout(LoraRecipe& lora, bool off) {
  lora.dropout_switched_off = off && lora.dropout > 0;
  if (off) lora.dropout = 0.0;
}

}  // namespace

Result<torch::TrainRun> run_trainer(const Config& given, const TrainRecipe& asked,
                                    const Engines& engines, const ghost::DeviceTraits& device,
                                    int rank) {
  if (asked.program.is_plain_loop) return run_accelerate_loop(given, asked, device, rank);
  const Config config = disables_dropout(asked) ? without_dropout(given) : given;
  TrainRecipe recipe = runs_deepspeed(asked) ? trainer_recipe(asked) : asked;
  if (recipe.lora) switch_off_dropout(*recipe.lora, disables_dropout(recipe));
  if (!trainer_of(recipe).balances_experts)
    trainer_of(recipe).balances_experts = config.number("router_aux_loss_coef", 1.0) != 0.0;
  if (const Result<void> fine = check_flash(config, asked); !fine)
    return tl::unexpected(fine.error());
  if (const Result<void> known = check_recipe(recipe); !known) return tl::unexpected(known.error());
  if (const Result<void> known = check_checkpoint(config, recipe); !known)
    return tl::unexpected(known.error());
  // Some optimizers, and the hooks of wrappers, act between the layers of a backward; LLM.int8()
  // keeps what the engine does not release.
  if (trainer_of(recipe).optim.ends_with("lomo") || is_layerwise(trainer_of(recipe)) ||
      (recipe.quantization && recipe.quantization->int8) ||
      (recipe.program.trained_layers != 0 && recipe.checkpointing != Checkpointing::none) ||
      parallelism_of(recipe) != Parallelism::none)
    return run_trainer_program(config, recipe, engines, device, {.rank = rank});
  return torch::run_equal_layers([&](torch::EqualLayerRuns runs) {
    return run_trainer_program(config, recipe, engines, device, {.rank = rank, .runs = runs});
  });
}

}  // namespace memtape::transformers
