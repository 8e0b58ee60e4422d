// SPDX-License-Identifier: Apache-2.0
#include "predict/levers.h"

#include <fmt/format.h>

#include "framework/torch/init_device.h"

namespace memtape {
namespace {

/// How a framework spells what most of them have.
struct Spelling {
  const char* micro_batch = "micro-batch-size";
  const char* accumulation = "gradient-accumulation";
  std::pair<const char*, const char*> checkpointing{"gradient-checkpointing", "full"};
};
constexpr Spelling kOfTrainer{.micro_batch = "per_device_train_batch_size",
                              .accumulation = "gradient_accumulation_steps",
                              .checkpointing = {"gradient_checkpointing", "true"}};

bool is_trainer(const TrainRecipe& recipe) { return recipe.framework == Framework::transformers; }
bool is_megatron(const TrainRecipe& recipe) { return recipe.framework == Framework::megatron_core; }

/// Whether the model was made whole on a GPU that is to hold a shard of it, and found no room.
bool could_be_cut_first(const TrainRecipe& recipe, const Prediction& failing) {
  return failing.failure && failing.failure->phase == Phase::init &&
         torch::init_device(recipe) == InitDevice::cuda &&
         (recipe.framework == Framework::fsdp1 || recipe.framework == Framework::fsdp2 ||
          recipe.framework == Framework::torch_tp);
}

void add_free(std::vector<Lever>& found, const TrainRecipe& recipe, const Prediction& failing) {
  if (could_be_cut_first(recipe, failing))
    found.push_back(
        {{{"init-device", "meta"}}, "none: the model is cut before it takes memory", true});
  if (recipe.attention == AttentionChoice::eager)
    found.push_back({{{"attention", is_megatron(recipe) ? "flash" : "sdpa"}},
                     "none: the same result by a fused kernel",
                     true});
  if (is_megatron(recipe) && recipe.layout.gpus > 1 && recipe.layout.zero.value_or(0) == 0)
    found.push_back(
        {{{"zero", "1"}}, "none: each data rank updates a shard of the parameters", true});
  if (recipe.optimizer != OptimizerName::adamw || recipe.optimizer_impl == OptimizerImpl::fused ||
      recipe.trainer.bitsandbytes_optim)
    return;
  const char* none = "none: the same update by one kernel";
  if (!is_trainer(recipe))
    found.push_back({{{"optimizer-impl", "fused"}}, none, true});
  else if (recipe.trainer.optim == "adamw_torch")
    found.push_back({{{"optim", "adamw_torch_fused"}}, none, true});
}

/// As many sequences a step in smaller micro-batches.
void add_micro_batches(std::vector<Lever>& found, const TrainRecipe& recipe,
                       const Spelling& spelling) {
  const std::int64_t all = recipe.micro_batch_size * recipe.gradient_accumulation;
  for (std::int64_t size = recipe.micro_batch_size / 2; size > 0; size /= 2) {
    if (all % size != 0) continue;
    Lever lever{{{spelling.micro_batch, fmt::format("{}", size)}},
                "smaller kernels, the same tokens a step"};
    if (!recipe.global_batch_size)
      lever.changes.emplace_back(spelling.accumulation, fmt::format("{}", all / size));
    found.push_back(std::move(lever));
  }
}

void add_adapters(std::vector<Lever>& found, const TrainRecipe& recipe) {
  const char* cost = "trains adapters instead of all weights";
  if (is_trainer(recipe)) {
    if (!recipe.lora)
      found.push_back({{{"peft", R"({"r": 16, "target_modules": "all-linear"})"}}, cost});
    if (!recipe.quantization)
      found.push_back({{{"quantization", R"({"load_in_4bit": true, "bnb_4bit_quant_type": "nf4", )"
                                         R"("bnb_4bit_use_double_quant": true, )"
                                         R"("bnb_4bit_compute_dtype": "bfloat16"})"}},
                       "the weights beneath the adapters are rounded to 4 bits"});
    return;
  }
  if (!recipe.lora && !is_megatron(recipe))
    found.push_back({{{"lora-rank", "16"}, {"lora-targets", "all-linear"}}, cost});
}

}  // namespace

std::vector<Lever> levers_of(const TrainRecipe& recipe, const Prediction& failing) {
  std::vector<Lever> found;
  const Spelling spelling = is_trainer(recipe) ? kOfTrainer : Spelling{};
  add_free(found, recipe, failing);
  if (recipe.checkpointing == Checkpointing::none)
    found.push_back({{{spelling.checkpointing.first, spelling.checkpointing.second}},
                     "about a third more compute"});
  add_micro_batches(found, recipe, spelling);
  if (is_trainer(recipe) && !recipe.trainer.bitsandbytes_optim &&
      recipe.optimizer == OptimizerName::adamw && recipe.trainer.optim.starts_with("adamw_torch"))
    found.push_back({{{"optim", "adamw_8bit"}}, "optimizer state of 8 bits (bitsandbytes)"});
  if (recipe.layout.offload.empty() || recipe.layout.offload == "none")
    found.push_back(
        {{{"offload", "all"}}, "parameters and optimizer state travel from and to host memory"});
  add_adapters(found, recipe);
  for (std::int64_t tokens = recipe.sequence_length / 2; tokens >= 512; tokens /= 2)
    found.push_back({{{"sequence-length", fmt::format("{}", tokens)}}, "shorter sequences"});
  return found;
}

}  // namespace memtape
