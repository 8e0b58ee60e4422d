// SPDX-License-Identifier: Apache-2.0
#include "workload/training_arguments.h"

#include <algorithm>
#include <array>

#include "base/json_reader.h"
#include "base/text.h"
#include "workload/evaluation_arguments.h"
#include "workload/fsdp_arguments.h"
#include "workload/liger_config.h"
#include "workload/optim_arguments.h"
#include "workload/trl_trainer.h"
#include "workload/typed_values.h"

namespace memtape {
namespace {

/// No block of a training step depends on them.
constexpr auto kNeutralArguments =
    std::to_array<std::string_view>({"output_dir",
                                     "num_train_epochs",
                                     "max_steps",
                                     "learning_rate",
                                     "lr_scheduler_type",
                                     "lr_scheduler_kwargs",
                                     "warmup_steps",
                                     "weight_decay",
                                     "adam_beta1",
                                     "adam_beta2",
                                     "adam_epsilon",
                                     "bf16_full_eval",
                                     "fp16_full_eval",
                                     "tf32",
                                     "logging_strategy",
                                     "logging_steps",
                                     "logging_first_step",
                                     "log_on_each_node",
                                     "logging_nan_inf_filter",
                                     "log_level",
                                     "log_level_replica",
                                     "disable_tqdm",
                                     "report_to",
                                     "run_name",
                                     "project",
                                     "trackio_space_id",
                                     "trackio_bucket_id",
                                     "trackio_static_space_id",
                                     "save_only_model",
                                     "save_strategy",
                                     "save_steps",
                                     "save_on_each_node",
                                     "save_total_limit",
                                     "enable_jit_checkpoint",
                                     "push_to_hub",
                                     "hub_token",
                                     "hub_private_repo",
                                     "hub_model_id",
                                     "hub_strategy",
                                     "hub_always_push",
                                     "hub_revision",
                                     "load_best_model_at_end",
                                     "metric_for_best_model",
                                     "greater_is_better",
                                     "ignore_data_skip",
                                     "restore_callback_states_from_checkpoint",
                                     "full_determinism",
                                     "seed",
                                     "data_seed",
                                     "dataloader_drop_last",
                                     "dataloader_num_workers",
                                     "dataloader_pin_memory",
                                     "dataloader_persistent_workers",
                                     "dataloader_prefetch_factor",
                                     "dataloader_multiprocessing_context",
                                     "dataloader_in_order",
                                     "remove_unused_columns",
                                     "train_sampling_strategy",
                                     "length_column_name",
                                     "ddp_backend",
                                     "ddp_timeout",
                                     "skip_memory_metrics",
                                     "do_train",
                                     "do_predict",
                                     "resume_from_checkpoint",
                                     "local_rank",
                                     "eval_delay",
                                     "eval_use_gather_object",
                                     "include_num_input_tokens_seen"});

/// Modelled at their defaults only.
struct Fixed {
  std::string_view name, value;
};
constexpr auto kFixed = std::to_array<Fixed>({
    {"torch_compile_backend", ""},
    {"torch_compile_mode", ""},
    {"use_cache", "false"},
    {"use_cpu", "false"},
    {"accelerator_config", ""},
    {"parallelism_config", ""},
    {"label_names", ""},
    {"debug", ""},
});

Result<void> set_mixed_precision(const NamedValue& option, Precision precision,
                                 TrainRecipe& recipe) {
  const Result<bool> on = boolean(option);
  if (!on) return tl::unexpected(on.error());
  if (*on && recipe.autocasts() && recipe.precision != precision)
    return bad_input("bf16 and fp16 exclude each other", "--" + option.first);
  if (*on)
    recipe.precision = precision;
  else if (recipe.precision == precision)
    recipe.precision = Precision::fp32;
  return {};
}

Result<void> set_gradient_checkpointing(const NamedValue& option, TrainRecipe& recipe) {
  const Result<bool> on = boolean(option);
  if (!on) return tl::unexpected(on.error());
  if (!*on)
    recipe.checkpointing = Checkpointing::none;
  else if (recipe.checkpointing == Checkpointing::none)
    recipe.checkpointing =
        recipe.trainer.use_reentrant ? Checkpointing::full_reentrant : Checkpointing::full;
  return {};
}

/// {"use_reentrant": ...}; transformers says false where the user says nothing.
Result<void> set_gradient_checkpointing_kwargs(const NamedValue& option, TrainRecipe& recipe) {
  JsonReader json(option.second);
  if (json.enter_object())
    while (const auto key = json.key()) {
      if (*key == "use_reentrant")
        recipe.trainer.use_reentrant = json.boolean();
      else
        json.fail("\"" + *key + "\" is not modelled");
    }
  json.finish();
  if (json.failed())
    return bad_input(json.problem(), "--" + option.first, "{\"use_reentrant\": false}");
  if (recipe.checkpointing != Checkpointing::none)
    recipe.checkpointing =
        recipe.trainer.use_reentrant ? Checkpointing::full_reentrant : Checkpointing::full;
  return {};
}

/// find_executable_batch_size (accelerate 1.15, utils/memory.py) begins with the batch that is
/// asked for.
Result<void> set_auto_find_batch_size(const NamedValue& option, TrainRecipe& recipe) {
  bool finds = false;
  const Result<void> done = put(boolean(option), finds);
  if (finds)
    recipe.assumed.emplace_back(
        "the batch is taken to be --per_device_train_batch_size: where it does not fit, "
        "auto_find_batch_size goes on with nine tenths of it");
  return done;
}

/// A ds_config's JSON; a file's name has become its text before.
Result<void> set_deepspeed(const NamedValue& option, TrainRecipe& recipe) {
  recipe.trainer.deepspeed = option.second;
  return {};
}

using ArgumentSetter = Result<void> (*)(const NamedValue&, TrainRecipe&);
struct Modelled {
  std::string_view name;
  ArgumentSetter set;
};
/// FinetuningArguments.pref_loss of LLaMA-Factory.
Result<void> set_pref_loss(const NamedValue& option, TrainRecipe& recipe) {
  const ProgramRecipe& program = recipe.program;
  if (!program.trains_preferences() || program.is_kto() || program.trains_value_head())
    return bad_input("LLaMA-Factory's", "--pref_loss", "it needs --trainer llama-factory-dpo");
  using Preference = ProgramRecipe::Preference;
  constexpr std::array kLosses{Preference::sigmoid, Preference::orpo, Preference::simpo};
  constexpr auto kNames = std::to_array<std::string_view>({"sigmoid", "orpo", "simpo"});
  const auto found = std::ranges::find(kNames, option.second);
  if (found == kNames.end())
    return unsupported("\"" + option.second + "\" is not modelled", "--pref_loss",
                       suggestion(option.second, kNames));
  recipe.program.preference = kLosses[static_cast<std::size_t>(found - kNames.begin())];
  return {};
}

constexpr auto kModelledArguments = std::to_array<Modelled>({
    {"per_device_train_batch_size",
     [](const NamedValue& o, TrainRecipe& r) { return put(positive(o), r.micro_batch_size); }},
    {"gradient_accumulation_steps",
     [](const NamedValue& o, TrainRecipe& r) {
       r.names_gradient_accumulation = true;
       return put(positive(o), r.gradient_accumulation);
     }},
    {"auto_find_batch_size", set_auto_find_batch_size},
    {"optim", set_optim},
    {"optim_args", set_optim_args},
    {"optim_target_modules", set_optim_target_modules},
    {"bf16", [](const NamedValue& o,
                TrainRecipe& r) { return set_mixed_precision(o, Precision::amp_bf16, r); }},
    {"fp16", [](const NamedValue& o,
                TrainRecipe& r) { return set_mixed_precision(o, Precision::amp_fp16, r); }},
    {"max_grad_norm",
     [](const NamedValue& o, TrainRecipe& r) { return put(not_negative(o), r.max_grad_norm); }},
    {"gradient_checkpointing", set_gradient_checkpointing},
    {"gradient_checkpointing_kwargs", set_gradient_checkpointing_kwargs},
    {"torch_empty_cache_steps",
     [](const NamedValue& o, TrainRecipe& r) {
       return put(positive(o), r.trainer.torch_empty_cache_steps);
     }},
    {"label_smoothing_factor",
     [](const NamedValue& o, TrainRecipe& r) {
       return put(not_negative(o), r.trainer.label_smoothing_factor);
     }},
    {"neftune_noise_alpha",
     [](const NamedValue& o, TrainRecipe& r) {
       return put(not_negative(o), r.trainer.neftune_noise_alpha);
     }},
    {"prepare_model_for_kbit_training",
     [](const NamedValue& o, TrainRecipe& r) {
       return put(boolean(o), r.prepare_for_kbit_training);
     }},
    {"use_liger_kernel", set_use_liger_kernel},
    {"liger_kernel_config", set_liger_kernel_config},
    {"pref_loss", set_pref_loss},
    {"cut_cross_entropy",
     [](const NamedValue& o, TrainRecipe& r) {
       return put(boolean(o), r.program.cut_cross_entropy);
     }},
    {"lora_qkv_kernel", [](const NamedValue& o,
                           TrainRecipe& r) { return put(boolean(o), r.trainer.lora_kernels.qkv); }},
    {"lora_o_kernel",
     [](const NamedValue& o, TrainRecipe& r) { return put(boolean(o), r.trainer.lora_kernels.o); }},
    {"lora_mlp_kernel", [](const NamedValue& o,
                           TrainRecipe& r) { return put(boolean(o), r.trainer.lora_kernels.mlp); }},
    {"torch_compile",
     [](const NamedValue& o, TrainRecipe& r) { return put(boolean(o), r.trainer.torch_compile); }},
    {"scored_tokens",
     [](const NamedValue& o, TrainRecipe& r) { return put(whole(o), r.trainer.scored_tokens); }},
    {"average_tokens_across_devices",
     [](const NamedValue& o, TrainRecipe& r) {
       return put(boolean(o), r.trainer.averages_tokens_across_devices);
     }},
    {"ddp_find_unused_parameters",
     [](const NamedValue& o, TrainRecipe& r) {
       return put(boolean(o), r.trainer.ddp.find_unused_parameters);
     }},
    {"ddp_bucket_cap_mb",
     [](const NamedValue& o, TrainRecipe& r) {
       return put(positive(o), r.trainer.ddp.bucket_cap_mb);
     }},
    {"ddp_broadcast_buffers",
     [](const NamedValue& o,
        TrainRecipe& r) { return put(boolean(o), r.trainer.ddp.broadcast_buffers); }},
    {"ddp_static_graph",
     [](const NamedValue& o,
        TrainRecipe& r) { return put(boolean(o), r.trainer.ddp.static_graph); }},
    {"fsdp", set_fsdp},
    {"fsdp_config", set_fsdp_config},
    {"deepspeed", set_deepspeed},
});

}  // namespace

std::vector<std::string_view> training_argument_names() {
  std::vector<std::string_view> names;
  for (const Modelled& argument : kModelledArguments) names.push_back(argument.name);
  for (const std::string_view name : evaluation_argument_names()) names.push_back(name);
  for (const Fixed& argument : kFixed) names.push_back(argument.name);
  names.insert(names.end(), kNeutralArguments.begin(), kNeutralArguments.end());
  for (const std::string_view name : trl_argument_names()) names.push_back(name);
  return names;
}

bool is_training_argument(std::string_view name) {
  const std::vector<std::string_view> names = training_argument_names();
  return std::find(names.begin(), names.end(), name) != names.end();
}

void set_training_argument_defaults(TrainRecipe& recipe) {
  recipe.precision = Precision::fp32;
  recipe.micro_batch_size = 8;
  recipe.optimizer_impl = OptimizerImpl::fused;
}

Result<void> set_training_argument(const NamedValue& option, TrainRecipe& recipe) {
  for (const Modelled& argument : kModelledArguments)
    if (argument.name == option.first) return argument.set(option, recipe);
  if (is_evaluation_argument(option.first)) return set_evaluation_argument(option, recipe);
  if (is_trl_argument(option.first)) return set_trl_argument(option, recipe);
  for (const Fixed& argument : kFixed)
    if (argument.name == option.first && argument.value != option.second)
      return unsupported("\"" + option.second + "\" is not modelled", "--" + option.first,
                         argument.value.empty() ? "leave it out" : std::string(argument.value));
  return {};
}

}  // namespace memtape
