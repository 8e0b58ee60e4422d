// SPDX-License-Identifier: Apache-2.0
#include "workload/reward_arguments.h"

#include <algorithm>
#include <array>

#include "workload/sft_arguments.h"
#include "workload/trl_trainer.h"
#include "workload/typed_values.h"

namespace memtape {
namespace {

constexpr auto kRewardOwn = std::to_array<std::string_view>({"center_rewards_coefficient"});

/// SFTConfig's that RewardConfig has, too.
constexpr auto kRewardShared = std::to_array<std::string_view>(
    {"max_length", "pad_to_multiple_of", "activation_offloading", "model_init_kwargs",
     "trust_remote_code", "chat_template_path", "dataset_num_proc", "eos_token", "pad_token"});

}  // namespace

std::span<const std::string_view> reward_argument_names() { return kRewardOwn; }

bool is_reward_argument(std::string_view name) {
  return std::ranges::find(kRewardOwn, name) != kRewardOwn.end();
}

bool asks_for_reward(std::span<const NamedValue> options) {
  return asks_for(options, "reward", is_reward_argument);
}

void set_reward_defaults(std::span<const NamedValue> options, TrainRecipe& recipe) {
  set_trl_defaults(options, recipe);
  recipe.trainer.reward.emplace();
  recipe.trainer.max_length = 1024;
}

Result<void> set_reward_argument(const NamedValue& option, TrainRecipe& recipe) {
  RewardRecipe& reward = *recipe.trainer.reward;
  if (option.first == "disable_dropout") return put(boolean(option), reward.disable_dropout);
  if (option.first == "center_rewards_coefficient") {
    double coefficient = 0;
    reward.centers_rewards = true;
    return put(not_negative(option), coefficient);
  }
  if (std::ranges::find(kRewardShared, option.first) != kRewardShared.end())
    return set_sft_argument(option, recipe);
  return bad_input("RewardConfig has no such field", "--" + option.first,
                   "another of trl's configurations has it");
}

}  // namespace memtape
