// SPDX-License-Identifier: Apache-2.0
#include "framework/torchtune/levers.h"

#include <array>
#include <string>
#include <utility>

#include "framework/torch/lora_targets.h"
#include "framework/torch/optimizer_in_backward.h"
#include "framework/torch/strategy.h"
#include "framework/transformers/bitsandbytes_optimizer.h"
#include "framework/transformers/torchao_adamw.h"

namespace memtape::torchtune {
namespace {

Result<void> read_version(const Config& json, std::string_view name, Levers& options) {
  const auto version = Version::parse(json.text(name));
  if (!version)
    return bad_input("\"" + json.text(name) + "\" is no release", "--strategy: version", "0.6.1");
  options.version = *version;
  return {};
}

constexpr auto kLosses =
    choices<Loss>("unusable value", {{"CEWithChunkedOutputLoss", Loss::ce_with_chunked_output},
                                     {"CrossEntropyLoss", Loss::cross_entropy}});

constexpr auto kOptimizers = choices<OptimizerClass>(
    "unusable value",
    {{"bitsandbytes.optim.AdamW8bit", OptimizerClass::adamw_8bit},
     {"bitsandbytes.optim.PagedAdamW", OptimizerClass::paged_adamw},
     {"bitsandbytes.optim.PagedAdamW8bit", OptimizerClass::paged_adamw_8bit},
     {"torchao.prototype.low_bit_optim.AdamW8bit", OptimizerClass::torchao_adamw_8bit},
     {"torchao.prototype.low_bit_optim.AdamW4bit", OptimizerClass::torchao_adamw_4bit}});

constexpr auto kFields = std::to_array<ConfigField<Levers>>({
    {"version", read_version},
    {"packed", fields::put<&Levers::is_packed>},
    {"compile", fields::put<&Levers::compiles>},
    {"enable_activation_offloading", fields::put<&Levers::offloads>},
    {"optimizer_in_bwd", fields::put<&Levers::steps_in_bwd>},
    {"optimizer", fields::pick<&Levers::optimizer, kOptimizers>},
    {"loss", fields::pick<&Levers::loss, kLosses>},
});

/// One optimizer over all of these parameters.
std::unique_ptr<torch::Optimizer> optimizer_over(const TrainRecipe& recipe,
                                                 torch::TensorList parameters) {
  const OptimizerClass wanted = recipe.own.of<Levers>().optimizer;
  switch (wanted) {
    case OptimizerClass::of_torch: return torch::make_optimizer(recipe, std::move(parameters));
    case OptimizerClass::torchao_adamw_8bit:
    case OptimizerClass::torchao_adamw_4bit:
      return std::make_unique<transformers::TorchaoAdamW>(
          std::move(parameters), wanted == OptimizerClass::torchao_adamw_8bit ? 8 : 4);
    default: break;
  }
  const BitsAndBytesOptim optim{.bits = wanted == OptimizerClass::paged_adamw ? 32 : 8,
                                .paged = wanted != OptimizerClass::adamw_8bit};
  return std::make_unique<transformers::BitsAndBytesOptimizer>(
      std::move(parameters), optim, std::unordered_set<const ghost::TensorImpl*>());
}

}  // namespace

Result<void> read_strategy(std::string_view json, TrainRecipe& recipe) {
  return torch::read_strategy(json, kFields, recipe);
}

Result<void> check_levers(const TrainRecipe& recipe) {
  const auto& levers = recipe.own.of<Levers>();
  if (levers.offloads && recipe.checkpointing == Checkpointing::none)
    return bad_input("activations are offloaded only where they are checkpointed",
                     "--strategy: enable_activation_offloading", "--gradient-checkpointing full");
  if (!levers.steps_in_bwd) return {};
  constexpr const char* kOption = "--strategy: optimizer_in_bwd";
  if (recipe.lora)
    return bad_input("torchtune's LoRA recipes have no optimizers in backward", kOption, "false");
  if (recipe.max_grad_norm)
    return bad_input("gradients are not clipped with optimizers in backward", kOption,
                     "--max-grad-norm none");
  if (recipe.gradient_accumulation > 1)
    return bad_input("gradients are not accumulated with optimizers in backward", kOption,
                     "--gradient-accumulation 1");
  return {};
}

TrainRecipe resolved(TrainRecipe recipe, const Config&) {
  if (recipe.lora && (recipe.lora->targets.empty() ||
                      recipe.lora->targets == std::vector{std::string(torch::kDefaultLoraTargets)}))
    recipe.lora->targets = {"q_proj", "v_proj"};
  const auto& levers = recipe.own.of<Levers>();
  if (levers.compiles && !levers.is_packed)
    recipe.not_modelled.emplace_back(
        "layers compiled over rows that are not packed are one graph, whose gradients come at its "
        "end; here they come as from the four graphs over packed rows");
  return recipe;
}

std::unique_ptr<torch::Optimizer> make_optimizer(const TrainRecipe& recipe,
                                                 torch::TensorList parameters) {
  if (!recipe.own.of<Levers>().steps_in_bwd) return optimizer_over(recipe, std::move(parameters));
  return std::make_unique<torch::OptimizerInBackward>(
      parameters, [&](std::size_t place) { return optimizer_over(recipe, {parameters[place]}); });
}

}  // namespace memtape::torchtune
