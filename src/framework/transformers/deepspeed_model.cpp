// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/deepspeed_model.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "framework/deepspeed/initialize.h"
#include "framework/deepspeed/zero_init.h"
#include "framework/torch/init_device.h"
#include "framework/torch/model_setup.h"
#include "framework/transformers/decay_parameters.h"
#include "framework/transformers/trainer_recipe.h"

namespace memtape::transformers {
namespace {

std::int64_t stage_of(const TrainRecipe& recipe) { return said_zero(recipe).stage; }

}  // namespace

bool runs_deepspeed(const TrainRecipe& recipe) { return trainer_of(recipe).deepspeed.has_value(); }

SaidZero said_zero(const TrainRecipe& recipe) {
  if (!runs_deepspeed(recipe)) return {};
  const deepspeed::DsOptions& said = *trainer_of(recipe).deepspeed;
  return {.stage = said.stage.value_or(0),
          .offloads_optimizer = said.zero.offload_optimizer,
          .offloads_parameters = said.zero.offload_param};
}

TrainRecipe engine_recipe(const TrainRecipe& recipe) {
  TrainRecipe engine = recipe;
  engine.weights = recipe.precision == Precision::amp_bf16 || recipe.precision == Precision::bf16
                       ? DType::bfloat16
                   : recipe.precision == Precision::amp_fp16 || recipe.precision == Precision::fp16
                       ? DType::float16
                       : DType::float32;
  return engine;
}

TrainRecipe trainer_recipe(TrainRecipe recipe) {
  recipe.weights = recipe.parameter_dtype();
  if (recipe.precision == Precision::amp_bf16) recipe.precision = Precision::bf16;
  if (recipe.precision == Precision::amp_fp16) recipe.precision = Precision::fp16;
  const bool cuts_adapters = recipe.lora && stage_of(recipe) == 3;
  const bool forces_reentrant = recipe.is_of_trl() && !trainer_of(recipe).cpo;
  if (forces_reentrant && cuts_adapters && recipe.checkpointing == Checkpointing::full)
    recipe.checkpointing = Checkpointing::full_reentrant;
  return recipe;
}

namespace {

/// get_init_context (modeling_utils.py): a quantized model is made whole on each GPU, and cut by the
/// engine, which casts its adapters with all else.
bool makes_under_zero_init(const TrainRecipe& recipe) { return !recipe.quantization; }

Result<deepspeed::DsConfig> read_engine(const Config& config, const TrainRecipe& recipe,
                                        deepspeed::AutoSizes sizes) {
  const deepspeed::DsOptions& said = *trainer_of(recipe).deepspeed;
  Result<deepspeed::DsConfig> read =
      deepspeed::ds_config_of(said, config, engine_recipe(recipe), sizes);
  if (!read) return read;
  read->packed_sequences = said.packed_sequences.value_or(false);  // else a row is one sequence
  const bool has_adapters =
      recipe.lora.has_value() && !recipe.is_of_trl() && makes_under_zero_init(recipe);
  if (read->zero.stage == 3) read->has_float32_adapters = has_adapters;
  return read;
}

}  // namespace

Result<Engines> read_engines(const Config& config, const TrainRecipe& recipe) {
  Engines engines;
  if (!runs_deepspeed(recipe)) return engines;
  auto trained = read_engine(config, recipe, deepspeed::AutoSizes::filled_in);
  if (!trained) return tl::unexpected(trained.error());
  engines.trained = std::move(*trained);
  if (!cuts_parameters(recipe)) return engines;
  auto reference = read_engine(config, recipe, deepspeed::AutoSizes::left_out);
  if (!reference) return tl::unexpected(reference.error());
  engines.reference = std::move(*reference);
  return engines;
}

Engines engines_of_rank(Engines engines, const TrainRecipe& recipe) {
  for (std::optional<deepspeed::DsConfig>* engine : {&engines.trained, &engines.reference})
    if (*engine && (*engine)->zero.stage == 3 && makes_under_zero_init(recipe))
      (*engine)->zero_init = std::make_shared<deepspeed::ZeroInit>(**engine, recipe.layout.gpus);
  return engines;
}

Result<std::unique_ptr<family::PretrainedModel>> make_model(
    const Config& config, const TrainRecipe& recipe,
    const std::optional<deepspeed::DsConfig>& engine) {
  if (!engine || !engine->zero_init) {
    const ghost::HostGuard host(torch::init_device(recipe) != InitDevice::cuda);
    return torch::build_model(config, recipe);
  }
  return deepspeed::make_under_zero_init(config, recipe, *engine->zero_init);
}

bool cuts_parameters(const TrainRecipe& recipe) { return stage_of(recipe) == 3; }

std::vector<ghost::Tensor> second_group(family::PretrainedModel& model, const TrainRecipe& recipe) {
  if (!runs_deepspeed(recipe) || trainer_of(recipe).deepspeed->optimizer) return {};
  const GroupedParameters grouped = grouped_parameters(model);
  return {grouped.parameters.begin() + static_cast<std::ptrdiff_t>(grouped.decayed),
          grouped.parameters.end()};
}

namespace {

/// Adapters put into a model made under zero.Init: they are in float32 there but trl's, and
/// DeepSpeed (defragment of zero/utils.py) joins what is trained if it is of one dtype.
Result<void> check_zero3_adapters(const TrainRecipe& recipe) {
  const LoraRecipe& lora = *recipe.lora;
  if (lora.lora_bias)
    return unsupported("biases of adapters over ZeRO 3 are not modelled", "--peft",
                       R"("lora_bias": false)");
  const bool trains_more =
      !lora.modules_to_save.empty() || lora.trained_biases != LoraRecipe::Biases::none;
  if (!trains_more) return {};
  const DType dtype = engine_recipe(recipe).parameter_dtype();
  if (bits(dtype) == 16)
    return bad_input("ZeRO 3 refuses to join adapters in float32 and what is trained in " +
                         std::string(name(dtype)) + " beside them",
                     "--peft", R"("bias": "none", and no modules_to_save)");
  return unsupported("what is trained beside adapters over ZeRO 3 is not modelled", "--peft",
                     R"("bias": "none", and no modules_to_save)");
}

/// What of the model has not been laid beside real runs.
Result<void> check_model(const TrainRecipe& recipe) {
  const TrainerRecipe& trainer = trainer_of(recipe);
  const bool precomputes = (trainer.dpo && trainer.dpo->precompute_ref_log_probs) ||
                           (trainer.kto && trainer.kto->precompute_ref_log_probs);
  if (precomputes && stage_of(recipe) == 3)
    return unsupported(
        "the hooks that computing a reference before leaves to ZeRO 3 are not modelled",
        "--precompute_ref_log_probs", "leave it out, or ZeRO 2");
  if (recipe.lora && stage_of(recipe) == 3) return check_zero3_adapters(recipe);
  return {};
}

}  // namespace

Result<void> check_deepspeed(const TrainRecipe& recipe) {
  if (trainer_of(recipe).fsdp)
    return bad_input("Trainer takes one of --fsdp and --deepspeed", "--deepspeed", "leave one out");
  if (const Result<void> fine = check_model(recipe); !fine) return fine;
  constexpr std::array<std::string_view, 6> kOptims{
      "adamw_torch_fused", "adamw_torch", "sgd", "adagrad", "rmsprop", "adafactor"};
  if (std::find(kOptims.begin(), kOptims.end(), trainer_of(recipe).optim) != kOptims.end())
    return {};
  return unsupported("--optim " + trainer_of(recipe).optim + " over DeepSpeed is not modelled",
                     "--optim", "adamw_torch_fused, adamw_torch, sgd, adagrad or rmsprop");
}

}  // namespace memtape::transformers
