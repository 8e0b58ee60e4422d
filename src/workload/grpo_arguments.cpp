// SPDX-License-Identifier: Apache-2.0
#include "workload/grpo_arguments.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/text.h"
#include "workload/dpo_arguments.h"
#include "workload/sft_arguments.h"
#include "workload/trl_trainer.h"
#include "workload/typed_values.h"

namespace memtape {
namespace {

using GrpoSetter = Result<void> (*)(const NamedValue&, GrpoRecipe&);
struct GrpoField {
  std::string_view name;
  GrpoSetter set;
};

Result<void> pass_over_for_grpo(const NamedValue&, GrpoRecipe&) { return {}; }

/// A switch whose way is not modelled.
Result<void> refuse_if_on(const NamedValue& option, GrpoRecipe&) {
  const Result<bool> on = boolean(option);
  if (!on) return tl::unexpected(on.error());
  if (*on) return unsupported("not modelled", "--" + option.first, "false");
  return {};
}

Result<void> refuse_if_off(const NamedValue& option, GrpoRecipe&) {
  const Result<bool> on = boolean(option);
  if (!on) return tl::unexpected(on.error());
  if (!*on) return unsupported("not modelled", "--" + option.first, "true");
  return {};
}

/// The engine's weights and cache on the same GPU (colocate), its server's log-probabilities in the
/// loss.
Result<void> refuse_vllm(const NamedValue& option, GrpoRecipe&) {
  const Result<bool> on = boolean(option);
  if (!on) return tl::unexpected(on.error());
  if (*on)
    return unsupported("generation by vLLM is not modelled, colocated or by a server",
                       "--" + option.first, "false; `memtape -- vllm serve` answers for an engine");
  return {};
}

bool is_none(const NamedValue& option) {
  return option.second == "None" || option.second == "none";
}

/// A number that does nothing at its default.
template <int nothing, bool GrpoRecipe::* does>
Result<void> set_unless(const NamedValue& option, GrpoRecipe& grpo) {
  const Result<double> number = not_negative(option);
  if (!number) return tl::unexpected(number.error());
  grpo.*does = *number != nothing;
  return {};
}

/// A number that does nothing as long as it is not given.
template <bool GrpoRecipe::* does>
Result<void> set_if_given(const NamedValue& option, GrpoRecipe& grpo) {
  if (is_none(option)) return {};
  double number = 0;
  grpo.*does = true;
  return put(not_negative(option), number);
}

template <bool GrpoRecipe::* does>
Result<void> set_switch(const NamedValue& option, GrpoRecipe& grpo) {
  return put(boolean(option), grpo.*does);
}

Result<void> refuse(const NamedValue& option, GrpoRecipe&) {
  if (is_none(option)) return {};
  return unsupported("not modelled", "--" + option.first, "leave it out");
}

/// Those that generate() makes anew each time and keeps on the GPU.
Result<void> set_cache(const NamedValue& option, GrpoRecipe& grpo) {
  if (is_none(option)) return {};
  if (option.second != "dynamic" && option.second != "static")
    return unsupported("the cache \"" + option.second + "\" is not modelled in training",
                       "--" + option.first, "dynamic or static");
  grpo.cache_implementation = option.second;
  return {};
}

Result<void> choose_for_grpo(const NamedValue& option, std::span<const std::string_view> known) {
  if (std::ranges::find(known, option.second) != known.end()) return {};
  return wrong_value(option, suggestion(option.second, known));
}

Result<void> set_loss_type(const NamedValue& option, GrpoRecipe& grpo) {
  constexpr auto kKnown = std::to_array<std::string_view>(
      {"grpo", "bnpo", "dr_grpo", "dapo", "cispo", "sapo", "luspo", "vespo"});
  grpo.loss_type = option.second;
  return choose_for_grpo(option, kKnown);
}

Result<void> set_level(const NamedValue& option, GrpoRecipe& grpo) {
  constexpr auto kKnown = std::to_array<std::string_view>({"token", "sequence"});
  grpo.per_sequence = option.second == "sequence";
  return choose_for_grpo(option, kKnown);
}

constexpr auto kGrpoFields = std::to_array<GrpoField>({
    {"prompt_length",
     [](const NamedValue& o, GrpoRecipe& r) { return put(positive(o), r.prompt_length); }},
    {"num_generations",
     [](const NamedValue& o, GrpoRecipe& r) { return put(positive(o), r.num_generations); }},
    {"max_completion_length",
     [](const NamedValue& o, GrpoRecipe& r) { return put(positive(o), r.max_completion_length); }},
    {"num_iterations",
     [](const NamedValue& o, GrpoRecipe& r) { return put(positive(o), r.num_iterations); }},
    {"steps_per_generation",
     [](const NamedValue& o, GrpoRecipe& r) { return put(positive(o), r.steps_per_generation); }},
    {"generation_batch_size",
     [](const NamedValue& o, GrpoRecipe& r) { return put(positive(o), r.generation_batch_size); }},
    {"temperature",
     [](const NamedValue& o, GrpoRecipe& r) { return put(not_negative(o), r.temperature); }},
    {"top_k", [](const NamedValue& o, GrpoRecipe& r) { return put(whole(o), r.top_k); }},
    {"top_p", [](const NamedValue& o, GrpoRecipe& r) { return put(not_negative(o), r.top_p); }},
    {"delta", set_if_given<&GrpoRecipe::clips_two_sided>},
    {"importance_sampling_level", set_level},
    {"num_generations_eval", pass_over_for_grpo},
    {"epsilon", pass_over_for_grpo},
    {"epsilon_high", pass_over_for_grpo},
    {"reward_weights", pass_over_for_grpo},
    {"multi_objective_aggregation", pass_over_for_grpo},
    {"scale_rewards", pass_over_for_grpo},
    {"mask_truncated_completions", set_switch<&GrpoRecipe::masks_truncated>},
    {"log_completions", pass_over_for_grpo},
    {"log_multimodal", pass_over_for_grpo},
    {"num_completions_to_print", pass_over_for_grpo},
    {"log_unique_prompts", pass_over_for_grpo},
    {"log_completions_hub_repo", pass_over_for_grpo},
    {"chat_template_kwargs", pass_over_for_grpo},
    {"sapo_temperature_neg", pass_over_for_grpo},
    {"sapo_temperature_pos", pass_over_for_grpo},
    {"vespo_k_pos", pass_over_for_grpo},
    {"vespo_lambda_pos", pass_over_for_grpo},
    {"vespo_k_neg", pass_over_for_grpo},
    {"vespo_lambda_neg", pass_over_for_grpo},
    {"ds3_gather_for_generation", refuse_if_off},
    {"entropy_coef", set_unless<0, &GrpoRecipe::adds_entropy_bonus>},
    {"entropy_coef_min", pass_over_for_grpo},
    {"entropy_coef_max", pass_over_for_grpo},
    {"entropy_coef_delta", pass_over_for_grpo},
    {"entropy_target", pass_over_for_grpo},
    {"top_entropy_quantile", set_unless<1, &GrpoRecipe::masks_by_entropy>},
    {"repetition_penalty", set_unless<1, &GrpoRecipe::penalizes_repetition>},
    {"use_adaptive_entropy", set_switch<&GrpoRecipe::adapts_entropy_bonus>},
    {"use_bias_correction_kl", set_switch<&GrpoRecipe::corrects_bias_of_kl>},
    {"off_policy_mask_threshold", set_if_given<&GrpoRecipe::masks_off_policy>},
    {"min_p", set_if_given<&GrpoRecipe::has_min_p>},
    {"cache_implementation", set_cache},
    {"max_tool_calling_iterations", pass_over_for_grpo},
    {"use_vllm", refuse_vllm},
    {"vllm_mode", pass_over_for_grpo},
    {"vllm_model_impl", pass_over_for_grpo},
    {"vllm_enable_sleep_mode", pass_over_for_grpo},
    {"vllm_structured_outputs_regex", pass_over_for_grpo},
    {"vllm_server_base_url", pass_over_for_grpo},
    {"vllm_server_host", pass_over_for_grpo},
    {"vllm_server_port", pass_over_for_grpo},
    {"vllm_server_timeout", pass_over_for_grpo},
    {"vllm_group_port", pass_over_for_grpo},
    {"vllm_gpu_memory_utilization", pass_over_for_grpo},
    {"vllm_max_model_length", pass_over_for_grpo},
    {"vllm_tensor_parallel_size", pass_over_for_grpo},
    {"vllm_importance_sampling_correction", pass_over_for_grpo},
    {"vllm_importance_sampling_mode", pass_over_for_grpo},
    {"vllm_importance_sampling_clip_max", pass_over_for_grpo},
    {"vllm_importance_sampling_clip_min", pass_over_for_grpo},
    {"vllm_importance_sampling_cap", pass_over_for_grpo},
    {"transformers_continuous_batching_config", pass_over_for_grpo},
    {"use_transformers_continuous_batching", refuse_if_on},
    {"use_transformers_paged", refuse_if_on},
    {"cast_lm_head_to_fp32", refuse_if_on},
    {"generation_kwargs", refuse},
});

constexpr auto kGrpoNames = [] {
  std::array<std::string_view, kGrpoFields.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = kGrpoFields[i].name;
  return names;
}();

/// SFTConfig's and DPOConfig's that GRPOConfig has, too.
constexpr auto kGrpoShared =
    std::to_array<std::string_view>({"pad_to_multiple_of", "model_init_kwargs", "trust_remote_code",
                                     "router_aux_loss_coef", "shuffle_dataset"});

Result<void> set_shared(const NamedValue& option, TrainRecipe& recipe) {
  GrpoRecipe& grpo = *recipe.trainer.grpo;
  if (option.first == "beta") return put(not_negative(option), grpo.beta);
  if (option.first == "loss_type") return set_loss_type(option, grpo);
  if (option.first == "disable_dropout") return put(boolean(option), grpo.disable_dropout);
  if (option.first == "sync_ref_model") return check_sync_ref_model(option);
  if (option.first == "ref_model_mixup_alpha" || option.first == "ref_model_sync_steps") return {};
  if (std::ranges::find(kGrpoShared, option.first) != kGrpoShared.end())
    return set_sft_argument(option, recipe);
  return bad_input("GRPOConfig has no such field", "--" + option.first,
                   "another of trl's configurations has it");
}

bool says_sequence_length(std::span<const NamedValue> options) {
  return std::ranges::any_of(options,
                             [](const NamedValue& o) { return o.first == "sequence-length"; });
}

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

std::span<const std::string_view> grpo_argument_names() { return kGrpoNames; }

bool is_grpo_argument(std::string_view name) {
  return std::ranges::find(kGrpoNames, name) != kGrpoNames.end();
}

bool asks_for_grpo(std::span<const NamedValue> options) {
  return asks_for(options, "grpo", is_grpo_argument);
}

void set_grpo_defaults(std::span<const NamedValue> options, TrainRecipe& recipe) {
  set_trl_defaults(options, recipe);
  recipe.trainer.grpo.emplace();
}

Result<void> set_grpo_argument(const NamedValue& option, TrainRecipe& recipe) {
  for (const GrpoField& field : kGrpoFields)
    if (field.name == option.first) return field.set(option, *recipe.trainer.grpo);
  return set_shared(option, recipe);
}

Result<void> settle_grpo(std::span<const NamedValue> options, TrainRecipe& recipe) {
  if (!recipe.trainer.grpo) return {};
  GrpoRecipe& grpo = *recipe.trainer.grpo;
  constexpr std::int64_t kPrompt = 512;
  const std::int64_t completion = grpo.max_completion_length;
  if (!grpo.prompt_length && says_sequence_length(options)) {
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

}  // namespace memtape
