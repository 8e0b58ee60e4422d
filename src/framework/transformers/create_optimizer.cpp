// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/create_optimizer.h"

#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "framework/torch/model_setup.h"
#include "framework/transformers/arguments/optim_arguments.h"
#include "framework/transformers/decay_parameters.h"
#include "framework/transformers/grokadamw.h"
#include "framework/transformers/low_rank/create.h"
#include "framework/transformers/schedule_free.h"
#include "framework/transformers/stable_adamw.h"
#include "framework/transformers/torchao_adamw.h"
#include "framework/transformers/trainer_recipe.h"
#include "nn/layers.h"

namespace memtape::transformers {
namespace {

/// GlobalOptimManager's overrides: embeddings keep states of 32 bits.
std::unordered_set<const ghost::TensorImpl*> embeddings_of(family::PretrainedModel& model) {
  std::unordered_set<const ghost::TensorImpl*> embeddings;
  for (const nn::NamedModule& module : nn::named_modules(model.tree.root()))
    if (module.node->embedding) embeddings.insert(module.node->embedding->weight.ptr().get());
  return embeddings;
}

std::vector<Tensor> all_parameters(family::PretrainedModel& model) {
  std::vector<Tensor> all;
  for (const nn::ModuleNode::Named& p : nn::named_parameters(model.tree.root()))
    all.push_back(p.tensor);
  return all;
}

CreatedOptimizer created(const TrainRecipe& recipe, family::PretrainedModel& model,
                         std::vector<Tensor> parameters) {
  const std::string& optim = trainer_of(recipe).optim;
  CreatedOptimizer made;
  if (is_low_rank(trainer_of(recipe))) {
    made.optimizer = create_low_rank(trainer_of(recipe), model);
  } else if (optim == "adamw_torch_8bit" || optim == "adamw_torch_4bit") {
    made.optimizer =
        std::make_unique<TorchaoAdamW>(std::move(parameters), optim == "adamw_torch_8bit" ? 8 : 4);
  } else if (optim == "grokadamw") {
    made.optimizer = std::make_unique<GrokAdamW>(std::move(parameters));
  } else if (optim.ends_with("lomo")) {
    auto lomo =
        std::make_unique<Lomo>(std::move(parameters), all_parameters(model), optim == "adalomo");
    made.lomo = lomo.get();
    made.optimizer = std::move(lomo);
  } else if (optim.starts_with("schedule_free")) {
    made.optimizer =
        std::make_unique<ScheduleFree>(std::move(parameters), optim != "schedule_free_sgd");
  } else if (optim == "stable_adamw") {
    made.optimizer = std::make_unique<StableAdamW>(std::move(parameters));
  } else if (recipe.bitsandbytes_optim) {
    auto theirs = std::make_unique<BitsAndBytesOptimizer>(
        std::move(parameters), *recipe.bitsandbytes_optim, embeddings_of(model));
    made.bitsandbytes = theirs.get();
    made.optimizer = std::move(theirs);
  } else {
    made.optimizer = torch::make_optimizer(recipe, std::move(parameters));
  }
  return made;
}

}  // namespace

CreatedOptimizer create_optimizer(const TrainRecipe& recipe, family::PretrainedModel& model) {
  GroupedParameters grouped = grouped_parameters(model);
  CreatedOptimizer made = created(recipe, model, std::move(grouped.parameters));
  if (!is_low_rank(trainer_of(recipe))) made.optimizer->second_group_from(grouped.decayed);
  return made;
}

CreatedOptimizer create_optimizer(const TrainRecipe& recipe, family::PretrainedModel& model,
                                  torch::DrivenModel& wrapper) {
  const GroupedParameters grouped = grouped_parameters(model);
  const std::vector<Tensor> originals = torch::trainable_parameters(model);
  std::vector<Tensor> wrapped = wrapper.parameters();
  if (wrapped.size() != originals.size()) return created(recipe, model, std::move(wrapped));
  std::unordered_map<const ghost::TensorImpl*, Tensor> stands_for;
  for (std::size_t i = 0; i < originals.size(); ++i)
    stands_for.emplace(originals[i].ptr().get(), wrapped[i]);
  std::vector<Tensor> parameters;
  for (const Tensor& p : grouped.parameters) parameters.push_back(stands_for.at(p.ptr().get()));
  CreatedOptimizer made = created(recipe, model, std::move(parameters));
  made.optimizer->second_group_from(grouped.decayed);
  return made;
}

namespace {

/// Adapters are float32 but for those that trl puts over a quantized base.
bool has_bf16_gradients(const TrainRecipe& recipe) {
  const bool is_bf16 = recipe.parameter_dtype() == DType::bfloat16;
  if (!recipe.lora) return is_bf16;
  if (recipe.quantization && recipe.is_of_trl()) return true;
  return is_bf16 && !recipe.lora->modules_to_save.empty();
}

}  // namespace

Result<void> check_optim(const TrainRecipe& recipe) {
  const std::string& optim = trainer_of(recipe).optim;
  if (optim.ends_with("lomo") && recipe.precision == Precision::amp_fp16)
    return unsupported("LOMO under a gradient scaler is not modelled", "--fp16", "--bf16");
  if (optim.starts_with("rmsprop_bnb") && has_bf16_gradients(recipe))
    return bad_input("bitsandbytes' RMSprop takes no bfloat16 gradients", "--optim",
                     "rmsprop, or --weights fp32");
  if (const Result<void> fine = check_low_rank(recipe); !fine) return fine;
  return torch::check_optimizer(recipe.optimizer, recipe.optimizer_impl);
}

}  // namespace memtape::transformers
