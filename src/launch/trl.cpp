// SPDX-License-Identifier: Apache-2.0
// trl's programs (1.16): `trl sft|dpo|reward|grpo|rloo|kto ...` and trl/scripts/sft.py, dpo.py,
// reward.py, grpo.py, rloo.py and kto.py, with a configuration in YAML (--config) that sets
// defaults. Words that are accelerate's go to its launcher. And trl's examples cpo.py and orpo.py
// (examples/scripts), which load the checkpoint as it is, whatever ModelConfig says of it.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "launch/accelerate_config.h"
#include "launch/python_arguments.h"
#include "launch/setting_names.h"
#include "launch/trainer_program.h"

namespace memtape::launch {
namespace {

using transformers::TrlConfig;

constexpr auto kOnByDefault = std::to_array<std::string_view>(
    {"gradient_checkpointing", "remove_unused_columns", "dataloader_pin_memory",
     "skip_memory_metrics", "log_on_each_node", "logging_nan_inf_filter",
     "average_tokens_across_devices"});

/// Whether the program passes ModelConfig's dtype, attention and quantization over.
bool loads_as_it_is(const TrlConfig& trainer) {
  return &trainer == &transformers::kCpo || &trainer == &transformers::kOrpo;
}

/// The fields of the trainer's configuration: they share some of SFTConfig's and DPOConfig's.
std::vector<std::string_view> all_fields(const TrlConfig& trainer) {
  std::vector<std::string_view> names = training_argument_fields();
  const auto add = [&](const TrlConfig& config) {
    for (const std::string_view name : config.own_names()) names.push_back(name);
  };
  add(transformers::kSft);
  if (&trainer != &transformers::kSft) add(transformers::kDpo);
  if (&trainer == &transformers::kRloo) add(transformers::kGrpo);
  add(trainer);
  if (loads_as_it_is(trainer)) {
    add(transformers::kCpo);
    names.push_back("max_completion_length");
  }
  for (const std::string_view own : {"prompt_length", "packed_sequences"})  // memtape's own
    std::erase(names, own);
  return names;
}

/// --config FILE sets what the command line does not.
Result<Settings> read_trl(const LaunchCommand& command, const PythonProgram& program) {
  Result<Settings> typed = read_python_arguments(command.arguments, program);
  if (!typed) return typed;
  const std::optional<std::string> config = typed->text("config");
  if (!config) return typed;
  const Result<std::string> text = command.files->read(*config);
  if (!text) return tl::unexpected(text.error());
  Result<Settings> settings = read_settings(*text, *config);
  if (!settings) return settings;
  for (const GivenSetting& setting : typed->all()) settings->set(setting);
  return settings;
}

/// What memory depends on in the configurations that trl ships (trl/accelerate_configs); a command
/// line's --num_processes comes before theirs.
struct Shipped {
  std::string_view name, text;
};
constexpr auto kShipped = std::to_array<Shipped>({
    {"single_gpu", "{distributed_type: 'NO', mixed_precision: bf16, num_processes: 8}"},
    {"multi_gpu", "{distributed_type: MULTI_GPU, mixed_precision: bf16, num_processes: 8}"},
    {"fsdp1",
     "{distributed_type: FSDP, mixed_precision: bf16, num_processes: 8, fsdp_config: {"
     "fsdp_activation_checkpointing: false, fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP, "
     "fsdp_backward_prefetch: BACKWARD_PRE, fsdp_cpu_ram_efficient_loading: true, "
     "fsdp_forward_prefetch: true, fsdp_offload_params: false, "
     "fsdp_reshard_after_forward: FULL_SHARD, fsdp_sync_module_states: true, "
     "fsdp_use_orig_params: true, fsdp_version: 1}}"},
    {"fsdp2",
     "{distributed_type: FSDP, mixed_precision: bf16, num_processes: 8, fsdp_config: {"
     "fsdp_activation_checkpointing: false, fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP, "
     "fsdp_cpu_ram_efficient_loading: true, fsdp_offload_params: false, "
     "fsdp_reshard_after_forward: true, fsdp_version: 2}}"},
    {"zero1",
     "{distributed_type: DEEPSPEED, mixed_precision: bf16, num_processes: 8, deepspeed_config: {"
     "offload_optimizer_device: none, offload_param_device: none, zero_stage: 1}}"},
    {"zero2",
     "{distributed_type: DEEPSPEED, mixed_precision: bf16, num_processes: 8, deepspeed_config: {"
     "offload_optimizer_device: none, offload_param_device: none, zero_stage: 2}}"},
    {"zero3",
     "{distributed_type: DEEPSPEED, mixed_precision: bf16, num_processes: 8, deepspeed_config: {"
     "offload_optimizer_device: none, offload_param_device: none, zero3_init_flag: true, "
     "zero_stage: 3}}"},
});

/// --accelerate_config: one of those, or a file; and --num_processes.
Result<void> note_accelerate(Settings& settings, LaunchCommand& command) {
  if (const std::optional<std::string> name = settings.text("accelerate_config")) {
    const auto found = std::ranges::find(kShipped, *name, &Shipped::name);
    const std::string where = settings.find("accelerate_config")->where;
    if (found == kShipped.end() && name->find_first_of("./") == std::string::npos)
      return bad_input(
          fmt::format("{} is neither a file nor a configuration that trl ships", *name), where,
          "single_gpu, multi_gpu, fsdp1, fsdp2, zero1, zero2 or zero3");
    const Result<void> noted = found == kShipped.end()
                                   ? note_accelerate_config(*name, command)
                                   : note_accelerate_text(found->text, *name + ".yaml", command);
    if (!noted) return noted;
  }
  if (const std::optional<std::int64_t> processes = settings.whole("num_processes"))
    command.processes = *processes;
  return {};
}

/// dtype, attention and quantization as ModelConfig has them.
void add_loading(Settings& settings, Translation& translation) {
  const std::optional<std::string> dtype = settings.text("dtype");
  if (dtype)
    add_weights(settings, "dtype", translation);
  else
    translation.add("weights", "fp32");  // ModelConfig's default
  add_attention(settings, "attn_implementation", translation);
  if (settings.on("load_in_4bit"))
    add_quantization({.double_quant = settings.on("use_bnb_nested_quant"),
                      .type = settings.text("bnb_4bit_quant_type").value_or("nf4"),
                      .compute_dtype = dtype.value_or("float32")},
                     translation);
  else if (settings.on("load_in_8bit"))
    add_quantization({.bits = 8}, translation);
}

/// The settings of ModelConfig that a program which loads the checkpoint as it is does not read.
void warn_of_loading(const Settings& settings, Translation& translation) {
  for (const std::string_view name :
       {"dtype", "attn_implementation", "load_in_4bit", "load_in_8bit"})
    if (settings.find(name))
      translation.remarks.warnings.push_back(
          fmt::format("the example loads the checkpoint as it is and does not read --{}", name));
}

void add_trl_adapters(Settings& settings, Translation& translation) {
  std::vector<std::string> saved = settings.words("lora_modules_to_save");
  if (settings.text("lora_task_type").value_or("") == "SEQ_CLS") saved.push_back("score");
  std::vector<std::string> targets = settings.words("lora_target_modules");
  std::string pattern;  // ModelConfig hands a single name over as a text
  if (targets.size() == 1 && targets.front() != "all-linear") pattern = std::move(targets.front());
  if (settings.on("use_peft"))
    add_lora({.rank = settings.whole("lora_r").value_or(16),
              .alpha = settings.number("lora_alpha").value_or(32.0),
              .use_rslora = settings.on("use_rslora"),
              .dropout = settings.number("lora_dropout").value_or(0.05),
              .targets = std::move(targets),
              .modules_to_save = saved,
              .target_pattern = std::move(pattern),
              .rank_pattern = {},
              .layers_to_transform = {},
              .use_dora = settings.on("use_dora")},
             translation);
}

/// How long sequences are taken to be.
void add_lengths(Settings& settings, const TrlConfig& trainer, Translation& translation) {
  if (&trainer == &transformers::kGrpo || &trainer == &transformers::kRloo) {
    translation.remarks.warnings.emplace_back(
        "completions are taken to be max_completion_length long, and no longer than that");
    return;
  }
  add_default(translation, "max_length", "1024");
  if (!settings.on("packing"))
    translation.remarks.warnings.emplace_back(
        "sequences are padded to the longest of their batch; all are taken to be max_length long");
}

}  // namespace

Result<Translation> translate_trl(const LaunchCommand& command, const TrlConfig& trainer) {
  const KnownNames known = data::trl_names();
  std::vector<std::string_view> neutral = all_fields(trainer);
  neutral.insert(neutral.end(), known.neutral.begin(), known.neutral.end());
  std::vector<std::string_view> names = neutral;
  names.insert(names.end(), known.modelled.begin(), known.modelled.end());
  names.insert(names.end(), known.not_modelled.begin(), known.not_modelled.end());
  Result<Settings> settings =
      read_trl(command, {.name = command.program, .names = names, .on_by_default = kOnByDefault});
  if (!settings) return tl::unexpected(settings.error());
  LaunchCommand launched = command;
  if (const auto noted = note_accelerate(*settings, launched); !noted)
    return tl::unexpected(noted.error());
  Result<Translation> translation = begin_trainer(launched);
  if (!translation) return translation;
  translation->remarks.add(settings->check_names({known.modelled, known.not_modelled, neutral}));
  if (settings->failure()) return tl::unexpected(*settings->failure());
  const std::optional<std::string> model = settings->text("model_name_or_path");
  if (!model) return bad_input("no model is named", command.program, "--model_name_or_path MODEL");
  translation->model = *model;
  if (loads_as_it_is(trainer))
    warn_of_loading(*settings, *translation);
  else
    add_loading(*settings, *translation);
  add_trl_adapters(*settings, *translation);
  translation->add("trainer", trainer.trainer);
  if (const auto done = add_training_arguments(*settings, *translation, &trainer); !done)
    return tl::unexpected(done.error());
  add_lengths(*settings, trainer, *translation);
  if (settings->failure()) return tl::unexpected(*settings->failure());
  return translation;
}

}  // namespace memtape::launch
