// SPDX-License-Identifier: Apache-2.0
#include "workload/rloo_arguments.h"

#include <algorithm>
#include <array>

#include "workload/grpo_arguments.h"
#include "workload/sft_arguments.h"
#include "workload/trl_trainer.h"

namespace memtape {
namespace {

constexpr auto kRlooOwn =
    std::to_array<std::string_view>({"normalize_advantages", "reward_clip_range"});
/// Of GRPOConfig, and not of RLOOConfig.
constexpr auto kOnlyOfGrpo = std::to_array<std::string_view>(
    {"loss_type", "importance_sampling_level", "delta", "scale_rewards", "entropy_coef",
     "top_entropy_quantile", "use_adaptive_entropy", "use_bias_correction_kl",
     "off_policy_mask_threshold", "multi_objective_aggregation", "cast_lm_head_to_fp32",
     "vllm_importance_sampling_correction", "vllm_importance_sampling_mode",
     "vllm_importance_sampling_clip_max", "vllm_importance_sampling_clip_min",
     "vllm_importance_sampling_cap"});

}  // namespace

std::span<const std::string_view> rloo_argument_names() { return kRlooOwn; }

bool is_rloo_argument(std::string_view name) {
  return std::ranges::find(kRlooOwn, name) != kRlooOwn.end();
}

bool asks_for_rloo(std::span<const NamedValue> options) {
  return asks_for(options, "rloo", is_rloo_argument);
}

GrpoRecipe rloo_defaults() {
  GrpoRecipe rloo;
  rloo.num_generations = 2;
  rloo.max_completion_length = 512;
  rloo.beta = 0.05;
  rloo.leaves_one_out = true;
  return rloo;
}

void set_rloo_defaults(std::span<const NamedValue> options, TrainRecipe& recipe) {
  set_trl_defaults(options, recipe);
  recipe.trainer.grpo = rloo_defaults();
}

Result<void> set_rloo_argument(const NamedValue& option, TrainRecipe& recipe) {
  if (is_rloo_argument(option.first)) return {};
  if (std::ranges::find(kOnlyOfGrpo, option.first) != kOnlyOfGrpo.end())
    return bad_input("RLOOConfig has no such field", "--" + option.first, "GRPOConfig has it");
  return set_grpo_argument(option, recipe);
}

}  // namespace memtape
