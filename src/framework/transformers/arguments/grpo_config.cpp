// SPDX-License-Identifier: Apache-2.0
// trl's GRPOConfig and RLOOConfig (1.16). A micro-batch is that many completions.
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

constexpr auto kGrpoLosses = std::to_array<std::string_view>(
    {"grpo", "bnpo", "dr_grpo", "dapo", "cispo", "sapo", "luspo", "vespo"});
constexpr auto kSamplingLevels = std::to_array<std::string_view>({"token", "sequence"});

/// The engine's weights and cache on the same GPU (colocate), its server's log-probabilities in the
/// loss.
Result<void> refuse_vllm(const Said& said, TrainRecipe&) {
  if (!said.on()) return {};
  return unsupported("generation by vLLM is not modelled, colocated or by a server",
                     "--" + std::string(said.name()),
                     "false; `memtape -- vllm serve` answers for an engine");
}

bool is_none(std::string_view text) { return text == "None" || text == "none"; }

/// A number that does nothing at that value.
template <int nothing, bool GrpoRecipe::* does>
Result<void> set_unless(const Said& said, TrainRecipe& recipe) {
  *recipe.trainer.grpo.*does = said.real() != nothing;
  return {};
}

/// A number that does nothing as long as it is not given.
template <bool GrpoRecipe::* does>
Result<void> set_if_given(const Said& said, TrainRecipe& recipe) {
  if (!is_none(said.text)) *recipe.trainer.grpo.*does = true;
  return {};
}

/// Those that generate() makes anew each time and keeps on the GPU.
Result<void> set_cache(const Said& said, TrainRecipe& recipe) {
  if (is_none(said.text)) return {};
  if (said.text != "dynamic" && said.text != "static")
    return unsupported("the cache \"" + std::string(said.text) + "\" is not modelled in training",
                       "--" + std::string(said.name()), "dynamic or static");
  recipe.trainer.grpo->cache_implementation = said.text;
  return {};
}

Result<void> refuse_generation_kwargs(const Said& said, TrainRecipe&) {
  if (is_none(said.text)) return {};
  return unsupported("not modelled", "--" + std::string(said.name()), "leave it out");
}

Result<void> set_grpo_loss(const Said& said, TrainRecipe& recipe) {
  recipe.trainer.grpo->loss_type = said.text;
  return {};
}

void start_grpo(TrainRecipe& recipe) { recipe.trainer.grpo.emplace(); }

void start_rloo(TrainRecipe& recipe) {
  GrpoRecipe& rloo = recipe.trainer.grpo.emplace();
  rloo.num_generations = 2;
  rloo.max_completion_length = 512;
  rloo.beta = 0.05;
  rloo.leaves_one_out = true;
}

template <auto member>
constexpr option::Setter<TrainRecipe> set_grpo = put<kTrainer, &TrainerRecipe::grpo, member>;

constexpr auto kGrpoOwn = std::to_array<Argument>({
    field("--prompt_length", Whole{}, set_grpo<&GrpoRecipe::prompt_length>),
    field("--num_generations", Whole{}, set_grpo<&GrpoRecipe::num_generations>, "8"),
    field("--max_completion_length", Whole{}, set_grpo<&GrpoRecipe::max_completion_length>, "256"),
    field("--num_iterations", Whole{}, set_grpo<&GrpoRecipe::num_iterations>, "1"),
    field("--steps_per_generation", Whole{}, set_grpo<&GrpoRecipe::steps_per_generation>),
    field("--generation_batch_size", Whole{}, set_grpo<&GrpoRecipe::generation_batch_size>),
    field("--temperature", Real{}, set_grpo<&GrpoRecipe::temperature>, "1.0"),
    field("--top_k", Whole{.least = 0}, set_grpo<&GrpoRecipe::top_k>, "0"),
    field("--top_p", Real{}, set_grpo<&GrpoRecipe::top_p>, "1.0"),
    or_none(field("--delta", Real{}, set_if_given<&GrpoRecipe::clips_two_sided>)),
    field("--importance_sampling_level", Choice{kSamplingLevels},
          set_grpo<&GrpoRecipe::per_sequence>, "token"),
    field("--mask_truncated_completions", OnOff{}, set_grpo<&GrpoRecipe::masks_truncated>, "false"),
    field("--ds3_gather_for_generation", OnOff{}, keep_on, "true"),
    field("--entropy_coef", Real{}, set_unless<0, &GrpoRecipe::adds_entropy_bonus>, "0"),
    field("--top_entropy_quantile", Real{}, set_unless<1, &GrpoRecipe::masks_by_entropy>, "1.0"),
    field("--repetition_penalty", Real{}, set_unless<1, &GrpoRecipe::penalizes_repetition>, "1.0"),
    field("--use_adaptive_entropy", OnOff{}, set_grpo<&GrpoRecipe::adapts_entropy_bonus>, "false"),
    field("--use_bias_correction_kl", OnOff{}, set_grpo<&GrpoRecipe::corrects_bias_of_kl>, "false"),
    or_none(
        field("--off_policy_mask_threshold", Real{}, set_if_given<&GrpoRecipe::masks_off_policy>)),
    or_none(field("--min_p", Real{}, set_if_given<&GrpoRecipe::has_min_p>)),
    field("--cache_implementation", Text{}, set_cache),
    field("--use_vllm", OnOff{}, refuse_vllm, "false"),
    field("--use_transformers_continuous_batching", OnOff{}, keep_off, "false"),
    field("--use_transformers_paged", OnOff{}, keep_off, "false"),
    field("--cast_lm_head_to_fp32", OnOff{}, keep_off, "false"),
    field("--generation_kwargs", Text{}, refuse_generation_kwargs),
});

constexpr auto kGrpoShared = std::to_array<Argument>({
    field("--beta", Real{}, set_grpo<&GrpoRecipe::beta>, "0.0"),
    field("--loss_type", Choice{kGrpoLosses}, set_grpo_loss, "dapo"),
    field("--disable_dropout", OnOff{}, set_grpo<&GrpoRecipe::disable_dropout>, "false"),
    field("--sync_ref_model", OnOff{}, pass, "false"),
});

/// __post_init__'s steps_per_generation and generation_batch_size.
Result<void> settle_batches(TrainRecipe& recipe) {
  GrpoRecipe& grpo = *recipe.trainer.grpo;
  const std::int64_t batch = recipe.micro_batch_size;
  if (grpo.generation_batch_size && grpo.steps_per_generation)
    return bad_input("generation_batch_size and steps_per_generation exclude each other",
                     "--generation_batch_size", "one of the two");
  if (grpo.generation_batch_size && *grpo.generation_batch_size % batch != 0)
    return bad_input("no multiple of the batch of a device", "--generation_batch_size",
                     "a multiple of " + std::to_string(batch));
  if (grpo.generation_batch_size)
    grpo.steps_per_generation = *grpo.generation_batch_size / batch;
  else
    grpo.steps_per_generation = grpo.steps_per_generation.value_or(recipe.gradient_accumulation);
  grpo.generation_batch_size = batch * *grpo.steps_per_generation;
  if (grpo.num_generations < 2)
    return bad_input("the completions of a prompt are compared", "--num_generations", "2 or more");
  if (*grpo.generation_batch_size % grpo.num_generations != 0)
    return bad_input(
        "the completions made at once, " + std::to_string(*grpo.generation_batch_size) +
            ", are no multiple of those of a prompt",
        "--num_generations", "a divisor of it, or another --per_device_train_batch_size");
  return {};
}

}  // namespace

const TrlConfig kGrpo{
    .trainer = "grpo",
    .name = "GRPOConfig",
    .start = start_grpo,
    .own = kGrpoOwn,
    .own_without_effect =
        "--num_generations_eval --epsilon --epsilon_high --reward_weights "
        "--multi_objective_aggregation --scale_rewards --log_completions --log_multimodal "
        "--num_completions_to_print --log_unique_prompts --log_completions_hub_repo "
        "--chat_template_kwargs --sapo_temperature_neg --sapo_temperature_pos --vespo_k_pos "
        "--vespo_lambda_pos --vespo_k_neg --vespo_lambda_neg --entropy_coef_min "
        "--entropy_coef_max --entropy_coef_delta --entropy_target --max_tool_calling_iterations "
        "--vllm_mode --vllm_model_impl --vllm_enable_sleep_mode --vllm_structured_outputs_regex "
        "--vllm_server_base_url --vllm_server_host --vllm_server_port --vllm_server_timeout "
        "--vllm_group_port --vllm_gpu_memory_utilization --vllm_max_model_length "
        "--vllm_tensor_parallel_size --vllm_importance_sampling_correction "
        "--vllm_importance_sampling_mode --vllm_importance_sampling_clip_max "
        "--vllm_importance_sampling_clip_min --vllm_importance_sampling_cap "
        "--transformers_continuous_batching_config",
    .shared = kGrpoShared,
    .shared_without_effect = "--ref_model_mixup_alpha --ref_model_sync_steps",
    .base = &kSft,
    .of_base =
        "--pad_to_multiple_of --model_init_kwargs --trust_remote_code "
        "--router_aux_loss_coef --shuffle_dataset"};

const TrlConfig kRloo{
    .trainer = "rloo",
    .name = "RLOOConfig",
    .start = start_rloo,
    .own_without_effect = "--normalize_advantages --reward_clip_range",
    .base = &kGrpo,
    .not_of_base =
        "--loss_type --importance_sampling_level --delta --scale_rewards --entropy_coef "
        "--top_entropy_quantile --use_adaptive_entropy --use_bias_correction_kl "
        "--off_policy_mask_threshold --multi_objective_aggregation --cast_lm_head_to_fp32 "
        "--vllm_importance_sampling_correction --vllm_importance_sampling_mode "
        "--vllm_importance_sampling_clip_max --vllm_importance_sampling_clip_min "
        "--vllm_importance_sampling_cap"};

Result<void> settle_grpo(std::span<const NamedValue> options, TrainRecipe& recipe) {
  if (!recipe.trainer.grpo) return {};
  GrpoRecipe& grpo = *recipe.trainer.grpo;
  constexpr std::int64_t kPrompt = 512;
  const std::int64_t completion = grpo.max_completion_length;
  if (!grpo.prompt_length && last_value(options, "sequence-length")) {
    if (recipe.sequence_length <= completion)
      return bad_input("a sequence holds a prompt and max_completion_length tokens",
                       "--sequence-length", "more than " + std::to_string(completion));
    grpo.prompt_length = recipe.sequence_length - completion;
  }
  if (!grpo.prompt_length)
    recipe.assumed.push_back("prompts are taken to be " + std::to_string(kPrompt) +
                             " tokens long: --prompt_length says how long they are");
  grpo.prompt_length = grpo.prompt_length.value_or(kPrompt);
  recipe.sequence_length = *grpo.prompt_length + completion;
  return settle_batches(recipe);
}

}  // namespace memtape::transformers
