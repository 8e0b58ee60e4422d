// SPDX-License-Identifier: Apache-2.0
#include "workload/trl_trainer.h"

#include <algorithm>
#include <array>
#include <string>

#include "workload/cpo_arguments.h"
#include "workload/dpo_arguments.h"
#include "workload/grpo_arguments.h"
#include "workload/kto_arguments.h"
#include "workload/reward_arguments.h"
#include "workload/rloo_arguments.h"
#include "workload/sft_arguments.h"

namespace memtape {
namespace {

constexpr std::array<std::string_view, 13> kTrainers{"trainer",
                                                     "sft",
                                                     "dpo",
                                                     "reward",
                                                     "grpo",
                                                     "kto",
                                                     "rloo",
                                                     "cpo",
                                                     "orpo",
                                                     "none",
                                                     "llama-factory-dpo",
                                                     "llama-factory-kto",
                                                     "llama-factory-rm"};

bool by_name_alone(std::string_view) { return false; }

/// torch.optim.AdamW's own form and DistributedDataParallel's own defaults, no clipping.
void set_plain_loop_defaults(TrainRecipe& recipe) {
  recipe.program.is_plain_loop = true;
  recipe.trainer.optim = "adamw_torch";
  recipe.optimizer_impl = OptimizerImpl::foreach;
  recipe.max_grad_norm.reset();
  recipe.trainer.ddp.find_unused_parameters = false;
}

}  // namespace

std::span<const std::string_view> trainer_names() { return kTrainers; }

bool asks_for(std::span<const NamedValue> options, std::string_view trainer,
              bool (*of_it)(std::string_view name)) {
  const std::string* named = nullptr;
  for (const NamedValue& option : options)
    if (option.first == "trainer") named = &option.second;
  if (named) return *named == trainer;
  return std::ranges::any_of(options, [&](const NamedValue& o) { return of_it(o.first); });
}

void set_defaults_of_trainer(std::span<const NamedValue> options, TrainRecipe& recipe) {
  if (asks_for(options, "none", by_name_alone))
    set_plain_loop_defaults(recipe);
  else if (asks_for(options, "llama-factory-dpo", by_name_alone))
    recipe.program.preference = ProgramRecipe::Preference::sigmoid;
  else if (asks_for(options, "llama-factory-kto", by_name_alone))
    recipe.program.preference = ProgramRecipe::Preference::kto;
  else if (asks_for(options, "llama-factory-rm", by_name_alone))
    recipe.program.preference = ProgramRecipe::Preference::pairwise;
  else if (asks_for_rloo(options))
    set_rloo_defaults(options, recipe);
  else if (asks_for_grpo(options))
    set_grpo_defaults(options, recipe);
  else if (asks_for_cpo(options))
    set_cpo_defaults(options, recipe);
  else if (asks_for_kto(options))
    set_kto_defaults(options, recipe);
  else if (asks_for_reward(options))
    set_reward_defaults(options, recipe);
  else if (asks_for_dpo(options))
    set_dpo_defaults(options, recipe);
  else if (asks_for_sft(options))
    set_sft_defaults(options, recipe);
}

std::vector<std::string_view> trl_argument_names() {
  std::vector<std::string_view> names;
  for (const auto& list :
       {sft_argument_names(), dpo_argument_names(), reward_argument_names(), grpo_argument_names(),
        kto_argument_names(), rloo_argument_names(), cpo_argument_names()})
    for (const std::string_view name : list)
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  return names;
}

bool is_trl_argument(std::string_view name) {
  return is_sft_argument(name) || is_dpo_argument(name) || is_reward_argument(name) ||
         is_grpo_argument(name) || is_kto_argument(name) || is_rloo_argument(name) ||
         is_cpo_argument(name);
}

Result<void> set_trl_argument(const NamedValue& option, TrainRecipe& recipe) {
  if (recipe.trainer.grpo && recipe.trainer.grpo->leaves_one_out)
    return set_rloo_argument(option, recipe);
  if (recipe.trainer.grpo) return set_grpo_argument(option, recipe);
  if (recipe.trainer.cpo) return set_cpo_argument(option, recipe);
  if (recipe.trainer.kto) return set_kto_argument(option, recipe);
  if (recipe.trainer.reward) return set_reward_argument(option, recipe);
  if (recipe.trainer.dpo) return set_dpo_argument(option, recipe);
  if (recipe.trainer.sft && is_sft_argument(option.first)) return set_sft_argument(option, recipe);
  return bad_input("a field of trl's configurations", "--" + option.first,
                   recipe.trainer.sft ? "SFTConfig has none of that name"
                                      : "--trainer sft, dpo, reward, grpo, kto, rloo, cpo or orpo");
}

Result<void> settle_trl(std::span<const NamedValue> options, TrainRecipe& recipe) {
  settle_dpo(recipe);
  if (const Result<void> settled = settle_sft(recipe); !settled) return settled;
  if (const Result<void> settled = settle_cpo(recipe); !settled) return settled;
  return settle_grpo(options, recipe);
}

}  // namespace memtape
