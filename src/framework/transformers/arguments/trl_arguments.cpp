// SPDX-License-Identifier: Apache-2.0
// The fields of trl's configurations (1.16, trainer/*_config.py; CPOConfig and ORPOConfig of
// experimental/), and what memory depends on that they leave to the data: packed_sequences,
// prompt_length.
#include "framework/transformers/arguments/trl_config.h"

namespace memtape::transformers {
namespace {

using option::Choice;
using option::OnOff;
using option::Real;
using option::Said;
using option::Text;
using option::Whole;

constexpr auto kPackingStrategies =
    std::to_array<std::string_view>({"bfd", "bfd_split", "wrapped"});
constexpr auto kSftLosses = std::to_array<std::string_view>({"nll", "dft", "chunked_nll"});
constexpr auto kDpoLosses = std::to_array<std::string_view>(
    {"sigmoid", "hinge", "ipo", "exo_pair", "nca_pair", "robust", "bco_pair", "sppo_hard", "aot",
     "aot_unpaired", "apo_zero", "apo_down", "discopop", "sft", "sigmoid_norm"});
constexpr auto kDivergences = std::to_array<std::string_view>(
    {"reverse_kl", "forward_kl", "js_divergence", "alpha_divergence"});
constexpr auto kKtoLosses = std::to_array<std::string_view>({"kto", "apo_zero_unpaired"});
constexpr auto kCpoLosses =
    std::to_array<std::string_view>({"sigmoid", "hinge", "ipo", "simpo", "alphapo"});
constexpr auto kGrpoLosses = std::to_array<std::string_view>(
    {"grpo", "bnpo", "dr_grpo", "dapo", "cispo", "sapo", "luspo", "vespo"});
constexpr auto kVllmModes = std::to_array<std::string_view>({"colocate", "server"});
constexpr auto kSamplingLevels = std::to_array<std::string_view>({"token", "sequence"});

template <auto member>
constexpr auto to_sft = to_trainer<&TrainerRecipe::sft, member>;
template <auto member>
constexpr auto to_dpo = to_trainer<&TrainerRecipe::dpo, member>;
template <auto member>
constexpr auto to_kto = to_trainer<&TrainerRecipe::kto, member>;
template <auto member>
constexpr auto to_cpo = to_trainer<&TrainerRecipe::cpo, member>;
template <auto member>
constexpr auto to_grpo = to_trainer<&TrainerRecipe::grpo, member>;
template <auto member>
constexpr auto grpo_given = put_given<&TrainerRecipe::grpo, member>;
template <int nothing, auto member>
constexpr auto grpo_unless = put_unless<nothing, &TrainerRecipe::grpo, member>;

/// trl 1.16 pads all the same, and says so.
Result<void> note_padding(const Said& said, TrainRecipe& recipe) {
  if (said.on())
    recipe.assumed.emplace_back(
        "trl 1.16's DPOTrainer pads its batches whatever padding_free says");
  return {};
}

bool is_none(const Said& said) { return std::holds_alternative<std::monostate>(said.value); }

/// Those that generate() makes anew each time and keeps on the GPU.
Result<void> set_cache(const Said& said, TrainRecipe& recipe) {
  if (is_none(said)) return {};
  if (said.text != "dynamic" && said.text != "static")
    return unsupported("the cache \"" + std::string(said.text) + "\" is not modelled in training",
                       "--" + std::string(said.name()), "dynamic or static");
  trainer_of(recipe).grpo->cache_implementation = said.text;
  return {};
}

Result<void> refuse_generation_kwargs(const Said& said, TrainRecipe&) {
  if (is_none(said)) return {};
  return unsupported("not modelled", "--" + std::string(said.name()), "leave it out");
}

constexpr Trainers kOfOnline = kOfGrpo | kOfRloo;  ///< they generate what they learn from
constexpr Trainers kOfExperimental = kOfCpo | kOfOrpo;
constexpr Trainers kWithLength = kOfSft | kOfDpo | kOfReward | kOfKto | kOfExperimental;
constexpr Trainers kWithReference = kOfDpo | kOfKto | kOfOnline;

/// By the first configuration that has them.
constexpr auto kTrlFields = std::to_array<TrlField>({
    // of SFTConfig
    {kWithLength,
     or_none(field("--max_length", Whole{}, "1024", to_trainer<&TrainerRecipe::max_length>))},
    {kOfSft, field("--packing", OnOff{}, "false", to_sft<&SftRecipe::packing>)},
    {kOfSft, field("--packing_strategy", Choice{kPackingStrategies}, "bfd",
                   put_is<2, &TrainerRecipe::sft, &SftRecipe::wraps>)},
    {kOfSft, field("--loss_type", Choice{kSftLosses}, "nll", to_sft<&SftRecipe::loss_type>)},
    {kOfSft, field("--padding_free", OnOff{}, "false", to_sft<&SftRecipe::padding_free>)},
    {kOfSft,
     by("memtape", field("--packed_sequences", Whole{}, {}, to_sft<&SftRecipe::packed_sequences>))},
    {kOfSft, field("--eval_packing", OnOff{}, "None", to_sft<&SftRecipe::eval_packing>)},
    {kOfSft | kOfDpo | kOfOnline, field("--router_aux_loss_coef", Real{}, "None",
                                        put_unless<0, &TrainerRecipe::balances_experts>)},
    {kOfSft, field("--shuffle_dataset", OnOff{}, "false")},
    {kOfOnline, field("--shuffle_dataset", OnOff{}, "true")},
    // of DPOConfig
    {kOfDpo, field("--precompute_ref_log_probs", OnOff{}, "false",
                   to_dpo<&DpoRecipe::precompute_ref_log_probs>)},
    {kOfDpo, field("--disable_dropout", OnOff{}, "true", to_dpo<&DpoRecipe::disable_dropout>)},
    {kOfDpo, field("--f_divergence_type", Choice{kDivergences}, "reverse_kl",
                   to_dpo<&DpoRecipe::f_divergence_type>)},
    {kWithReference, field("--sync_ref_model", OnOff{}, "false", pass)},
    {kOfDpo, field("--loss_type", Choice{kDpoLosses}, "sigmoid", to_dpo<&DpoRecipe::loss_types>)},
    {kOfDpo, field("--padding_free", OnOff{}, "false", note_padding)},
    {kOfDpo | kOfKto | kOfExperimental, field("--beta", Real{}, "0.1")},
    // of RewardConfig
    {kOfReward, field("--center_rewards_coefficient", Real{}, "None",
                      put_given<&TrainerRecipe::reward, &RewardRecipe::centers_rewards>)},
    {kOfReward, field("--disable_dropout", OnOff{}, "true",
                      to_trainer<&TrainerRecipe::reward, &RewardRecipe::disable_dropout>)},
    // of GRPOConfig
    {kOfOnline,
     by("memtape", field("--prompt_length", Whole{}, {}, to_grpo<&GrpoRecipe::prompt_length>))},
    {kOfOnline, field("--num_generations", Whole{}, "8", to_grpo<&GrpoRecipe::num_generations>)},
    {kOfOnline,
     field("--max_completion_length", Whole{}, "512", to_grpo<&GrpoRecipe::max_completion_length>)},
    {kOfOnline, field("--num_iterations", Whole{}, "1", to_grpo<&GrpoRecipe::num_iterations>)},
    {kOfOnline,
     field("--steps_per_generation", Whole{}, "None", to_grpo<&GrpoRecipe::steps_per_generation>)},
    {kOfOnline, field("--generation_batch_size", Whole{}, "None",
                      to_grpo<&GrpoRecipe::generation_batch_size>)},
    {kOfOnline, field("--temperature", Real{}, "1.0", to_grpo<&GrpoRecipe::temperature>)},
    {kOfOnline, field("--top_k", Whole{.least = 0}, "0", to_grpo<&GrpoRecipe::top_k>)},
    {kOfOnline, field("--top_p", kShare, "1.0", to_grpo<&GrpoRecipe::top_p>)},
    {kOfGrpo, or_none(field("--delta", Real{}, "None", grpo_given<&GrpoRecipe::clips_two_sided>))},
    {kOfGrpo, field("--importance_sampling_level", Choice{kSamplingLevels}, "token",
                    to_grpo<&GrpoRecipe::per_sequence>)},
    {kOfOnline, field("--mask_truncated_completions", OnOff{}, "false",
                      to_grpo<&GrpoRecipe::masks_truncated>)},
    {kOfGrpo,
     field("--entropy_coef", Real{}, "0", grpo_unless<0, &GrpoRecipe::adds_entropy_bonus>)},
    {kOfGrpo,
     field("--top_entropy_quantile", kShare, "1.0", grpo_unless<1, &GrpoRecipe::masks_by_entropy>)},
    {kOfOnline, field("--repetition_penalty", Real{}, "1.0",
                      grpo_unless<1, &GrpoRecipe::penalizes_repetition>)},
    {kOfGrpo,
     field("--use_adaptive_entropy", OnOff{}, "false", to_grpo<&GrpoRecipe::adapts_entropy_bonus>)},
    {kOfGrpo,
     field("--use_bias_correction_kl", OnOff{}, "true", to_grpo<&GrpoRecipe::corrects_bias_of_kl>)},
    {kOfGrpo, or_none(field("--off_policy_mask_threshold", Real{}, "None",
                            grpo_given<&GrpoRecipe::masks_off_policy>))},
    {kOfOnline, or_none(field("--min_p", kShare, "None", grpo_given<&GrpoRecipe::has_min_p>))},
    {kOfOnline, or_none(field("--cache_implementation", Text{}, "None", set_cache))},
    {kOfOnline, field("--use_vllm", OnOff{}, "false", to_grpo<&GrpoRecipe::use_vllm>)},
    {kOfOnline,
     field("--vllm_mode", Choice{kVllmModes}, "colocate", to_grpo<&GrpoRecipe::vllm_mode>)},
    {kOfOnline,
     field("--vllm_gpu_memory_utilization", kShare, "0.3", to_grpo<&GrpoRecipe::vllm_share>)},
    {kOfOnline,
     field("--vllm_enable_sleep_mode", OnOff{}, "false", to_grpo<&GrpoRecipe::vllm_sleeps>)},
    {kOfGrpo, field("--vllm_importance_sampling_correction", OnOff{}, "true",
                    to_grpo<&GrpoRecipe::corrects_sampling>)},
    {kOfOnline, or_none(field("--generation_kwargs", Text{}, "None", refuse_generation_kwargs))},
    {kOfOnline, field("--beta", Real{}, "0.0", to_grpo<&GrpoRecipe::beta>)},
    {kOfGrpo, field("--loss_type", Choice{kGrpoLosses}, "dapo", to_grpo<&GrpoRecipe::loss_type>)},
    {kOfOnline,
     field("--disable_dropout", OnOff{}, "false", to_grpo<&GrpoRecipe::disable_dropout>)},
    // of KTOConfig
    {kOfKto, field("--precompute_ref_log_probs", OnOff{}, "false",
                   to_kto<&KtoRecipe::precompute_ref_log_probs>)},
    {kOfKto, field("--disable_dropout", OnOff{}, "true", to_kto<&KtoRecipe::disable_dropout>)},
    {kOfKto, field("--loss_type", Choice{kKtoLosses}, "kto",
                   put_is<0, &TrainerRecipe::kto, &KtoRecipe::has_kl_term>)},
    // of CPOConfig
    {kOfCpo, field("--cpo_alpha", Real{}, "1.0", to_cpo<&CpoRecipe::cpo_alpha>)},
    {kOfCpo, field("--alpha", Real{}, "0",
                   put_unless<0, &TrainerRecipe::cpo, &CpoRecipe::transforms_rewards>)},
    {kOfExperimental,
     field("--disable_dropout", OnOff{}, "true", to_cpo<&CpoRecipe::disable_dropout>)},
    {kOfExperimental,
     by("memtape", field("--prompt_length", Whole{}, {}, to_cpo<&CpoRecipe::prompt_length>))},
    {kOfCpo, field("--loss_type", Choice{kCpoLosses}, "sigmoid", to_cpo<&CpoRecipe::loss_type>)},
    {kOfExperimental, field("--max_completion_length", Whole{}, "None")},
});

template <auto recipe_of>
void begin_with_length(TrainerRecipe& trainer) {
  (trainer.*recipe_of).emplace();
  trainer.max_length = 1024;
}

void begin_orpo(TrainerRecipe& trainer) {
  begin_with_length<&TrainerRecipe::cpo>(trainer);
  trainer.cpo->takes_odds_ratio = true;
}

void begin_grpo(TrainerRecipe& trainer) { trainer.grpo.emplace(); }

void begin_rloo(TrainerRecipe& trainer) {
  GrpoRecipe& rloo = trainer.grpo.emplace();
  rloo.num_generations = 2;
  rloo.beta = 0.05;
  rloo.leaves_one_out = true;
}

}  // namespace

const TrlConfig kSft{TrlTrainer::sft, "sft", "SFTConfig", begin_with_length<&TrainerRecipe::sft>};
const TrlConfig kDpo{TrlTrainer::dpo, "dpo", "DPOConfig", begin_with_length<&TrainerRecipe::dpo>,
                     &kSft};
const TrlConfig kReward{TrlTrainer::reward, "reward", "RewardConfig",
                        begin_with_length<&TrainerRecipe::reward>};
const TrlConfig kGrpo{TrlTrainer::grpo, "grpo", "GRPOConfig", begin_grpo};
const TrlConfig kKto{TrlTrainer::kto, "kto", "KTOConfig", begin_with_length<&TrainerRecipe::kto>};
const TrlConfig kRloo{TrlTrainer::rloo, "rloo", "RLOOConfig", begin_rloo, &kGrpo};
const TrlConfig kCpo{TrlTrainer::cpo, "cpo", "CPOConfig", begin_with_length<&TrainerRecipe::cpo>};
const TrlConfig kOrpo{TrlTrainer::orpo, "orpo", "ORPOConfig", begin_orpo, &kCpo};

std::span<const TrlField> trl_fields() {
  static const auto all = joined<TrlField>(kTrlFields, data::neutral_trl_fields());
  return all;
}

}  // namespace memtape::transformers
