// SPDX-License-Identifier: Apache-2.0
// trl's configurations of training by preferences (1.16): DPOConfig, KTOConfig, RewardConfig, and of
// trl.experimental CPOConfig and ORPOConfig. A micro-batch is that many pairs, of KTO sequences.
#include <algorithm>
#include <array>

#include "framework/transformers/arguments/trl_config.h"

namespace memtape::transformers {
namespace {

using option::Choice;
using option::OnOff;
using option::put;
using option::Real;
using option::Said;
using option::Text;
using option::Whole;

constexpr auto kOfDpo = &TrainerRecipe::dpo;
constexpr auto kOfKto = &TrainerRecipe::kto;
constexpr auto kOfReward = &TrainerRecipe::reward;
constexpr auto kOfCpo = &TrainerRecipe::cpo;

template <auto config>
void start_preferences(TrainRecipe& recipe) {
  (recipe.trainer.*config).emplace();
  recipe.trainer.max_length = 1024;
}

void start_orpo(TrainRecipe& recipe) {
  start_preferences<kOfCpo>(recipe);
  recipe.trainer.cpo->takes_odds_ratio = true;
}

constexpr auto kDpoLosses = std::to_array<std::string_view>(
    {"sigmoid", "hinge", "ipo", "exo_pair", "nca_pair", "robust", "bco_pair", "sppo_hard", "aot",
     "aot_unpaired", "apo_zero", "apo_down", "discopop", "sft", "sigmoid_norm"});
constexpr auto kDivergences = std::to_array<std::string_view>(
    {"reverse_kl", "forward_kl", "js_divergence", "alpha_divergence"});
constexpr auto kKtoLosses = std::to_array<std::string_view>({"kto", "apo_zero_unpaired"});
constexpr auto kCpoLosses =
    std::to_array<std::string_view>({"sigmoid", "hinge", "ipo", "simpo", "alphapo"});

/// --loss_type may be repeated; each occurrence adds one loss.
Result<void> add_dpo_loss(const Said& said, TrainRecipe& recipe) {
  recipe.trainer.dpo->loss_types.emplace_back(said.text);
  return {};
}

Result<void> set_divergence(const Said& said, TrainRecipe& recipe) {
  recipe.trainer.dpo->f_divergence_type = said.text;
  return {};
}

/// trl 1.16 pads all the same, and says so.
Result<void> note_padding(const Said& said, TrainRecipe& recipe) {
  if (said.on())
    recipe.assumed.emplace_back(
        "trl 1.16's DPOTrainer pads its batches whatever padding_free says");
  return {};
}

Result<void> set_kto_loss(const Said& said, TrainRecipe& recipe) {
  recipe.trainer.kto->has_kl_term = said.text == "kto";
  return {};
}

Result<void> set_center_rewards(const Said&, TrainRecipe& recipe) {
  recipe.trainer.reward->centers_rewards = true;
  return {};
}

Result<void> set_cpo_loss(const Said& said, TrainRecipe& recipe) {
  recipe.trainer.cpo->loss_type = said.text;
  return {};
}

Result<void> set_alpha(const Said& said, TrainRecipe& recipe) {
  recipe.trainer.cpo->transforms_rewards = said.real() != 0.0;
  return {};
}

constexpr auto kDpoOwn = std::to_array<Argument>({
    field("--precompute_ref_log_probs", OnOff{},
          put<kTrainer, kOfDpo, &DpoRecipe::precompute_ref_log_probs>, "false"),
    field("--disable_dropout", OnOff{}, put<kTrainer, kOfDpo, &DpoRecipe::disable_dropout>, "true"),
    field("--f_divergence_type", Choice{kDivergences}, set_divergence, "reverse_kl"),
    only("--ld_alpha", "None"),
    field("--use_weighting", OnOff{}, keep_off, "false"),
    field("--sync_ref_model", OnOff{}, pass, "false"),
});
constexpr auto kDpoShared = std::to_array<Argument>({
    field("--loss_type", Choice{kDpoLosses}, add_dpo_loss, "sigmoid"),
    field("--padding_free", OnOff{}, note_padding, "false"),
});

constexpr auto kKtoShared = std::to_array<Argument>({
    field("--precompute_ref_log_probs", OnOff{},
          put<kTrainer, kOfKto, &KtoRecipe::precompute_ref_log_probs>, "false"),
    field("--disable_dropout", OnOff{}, put<kTrainer, kOfKto, &KtoRecipe::disable_dropout>, "true"),
    field("--loss_type", Choice{kKtoLosses}, set_kto_loss, "kto"),
    field("--sync_ref_model", OnOff{}, pass, "false"),
});

constexpr auto kRewardOwn = std::to_array<Argument>({
    field("--center_rewards_coefficient", Real{}, set_center_rewards),
});
constexpr auto kRewardShared = std::to_array<Argument>({
    field("--disable_dropout", OnOff{}, put<kTrainer, kOfReward, &RewardRecipe::disable_dropout>,
          "true"),
});

constexpr auto kCpoOwn = std::to_array<Argument>({
    field("--cpo_alpha", Real{}, put<kTrainer, kOfCpo, &CpoRecipe::cpo_alpha>, "1.0"),
    field("--alpha", Real{}, set_alpha, "0"),
    field("--generate_during_eval", OnOff{}, keep_off, "false"),
});
constexpr auto kCpoShared = std::to_array<Argument>({
    field("--disable_dropout", OnOff{}, put<kTrainer, kOfCpo, &CpoRecipe::disable_dropout>, "true"),
    field("--prompt_length", Whole{}, put<kTrainer, kOfCpo, &CpoRecipe::prompt_length>),
    field("--loss_type", Choice{kCpoLosses}, set_cpo_loss, "sigmoid"),
});

}  // namespace

const TrlConfig kDpo{
    .trainer = "dpo",
    .name = "DPOConfig",
    .start = start_preferences<kOfDpo>,
    .own = kDpoOwn,
    .own_without_effect =
        "--precompute_ref_batch_size --beta --loss_weights --f_alpha_divergence_coef "
        "--label_smoothing --discopop_tau --ref_model_mixup_alpha --ref_model_sync_steps",
    .shared = kDpoShared,
    .base = &kSft,
    .not_of_base =
        "--packing --packing_strategy --completion_only_loss --assistant_only_loss "
        "--dataset_text_field --dataset_kwargs --chat_template_path --eos_token "
        "--eval_packing --shuffle_dataset --packed_sequences"};

const TrlConfig kKto{
    .trainer = "kto",
    .name = "KTOConfig",
    .start = start_preferences<kOfKto>,
    .own_without_effect = "--desirable_weight --undesirable_weight",
    .shared = kKtoShared,
    .shared_without_effect =
        "--beta --precompute_ref_batch_size --ref_model_mixup_alpha --ref_model_sync_steps",
    .base = &kSft,
    .of_base =
        "--max_length --pad_to_multiple_of --activation_offloading --model_init_kwargs "
        "--trust_remote_code --dataset_num_proc"};

const TrlConfig kReward{
    .trainer = "reward",
    .name = "RewardConfig",
    .start = start_preferences<kOfReward>,
    .own = kRewardOwn,
    .shared = kRewardShared,
    .base = &kSft,
    .of_base =
        "--max_length --pad_to_multiple_of --activation_offloading --model_init_kwargs "
        "--trust_remote_code --chat_template_path --dataset_num_proc --eos_token "
        "--pad_token"};

const TrlConfig kCpo{
    .trainer = "cpo",
    .name = "CPOConfig",
    .start = start_preferences<kOfCpo>,
    .own = kCpoOwn,
    .own_without_effect = "--simpo_gamma --padding_value --is_encoder_decoder",
    .shared = kCpoShared,
    .shared_without_effect = "--beta --max_completion_length --label_smoothing",
    .base = &kSft,
    .of_base = "--max_length --model_init_kwargs --trust_remote_code --dataset_num_proc"};

const TrlConfig kOrpo{
    .trainer = "orpo",
    .name = "ORPOConfig",
    .start = start_orpo,
    .base = &kCpo,
    .not_of_base = "--cpo_alpha --simpo_gamma --alpha --loss_type --label_smoothing"};

Result<void> settle_cpo(TrainRecipe& recipe) {
  if (!recipe.trainer.cpo) return {};
  CpoRecipe& cpo = *recipe.trainer.cpo;
  if (cpo.loss_type == "alphapo") {  // simpo without the chosen sequences' likelihood
    cpo.loss_type = "simpo";
    cpo.cpo_alpha = 0.0;
  }
  cpo.prompt_length =
      cpo.prompt_length.value_or(std::max<std::int64_t>(1, recipe.sequence_length / 2));
  if (*cpo.prompt_length < recipe.sequence_length) return {};
  return bad_input("a sequence holds a prompt and a completion", "--prompt_length",
                   "less than " + std::to_string(recipe.sequence_length));
}

}  // namespace memtape::transformers
