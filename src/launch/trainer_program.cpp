// SPDX-License-Identifier: Apache-2.0
#include "launch/trainer_program.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/json_object.h"
#include "base/json_reader.h"
#include "base/text.h"
#include "framework/transformers/arguments/training_arguments.h"

namespace memtape::launch {
namespace {

bool is_field(std::string_view name) {
  const std::vector<std::string_view> fields = training_argument_fields();
  return std::ranges::find(fields, name) != fields.end();
}

/// A configuration of its own, which is read where the options are.
bool names_file(const NamedValue& option) {
  return (option.first == "fsdp_config" || option.first == "deepspeed") &&
         !option.second.starts_with('{');
}

Result<void> add_argument(const GivenSetting& setting, TrainRecipe& scratch,
                          Translation& translation) {
  std::vector<std::string> values{option_text(setting.value)};
  if (setting.name == "loss_type" && setting.value.kind == YamlNode::Kind::sequence) {
    values.clear();  // DPOConfig's is a list of names
    for (const YamlNode& name : setting.value.children) values.push_back(option_text(name));
  }
  for (std::string& value : values) {
    const NamedValue option{setting.name, std::move(value)};
    if (setting.name == "deepspeed" && option.second == "true")
      return bad_input("names no file", setting.where, "--deepspeed ds_config.json");
    if (names_file(option)) {
      translation.options.push_back(option);
      continue;
    }
    if (const Result<void> fine = transformers::set_training_argument(option, scratch); !fine) {
      Error error = fine.error();
      error.where = setting.where;
      return tl::unexpected(std::move(error));
    }
    translation.options.push_back(option);
  }
  return {};
}

const std::string* setting_of(const LaunchCommand& command, std::string_view name) {
  const std::string* last = nullptr;
  for (const auto& [setting, value] : command.launcher_settings)
    if (setting == name) last = &value;
  return last;
}

bool is_on(const std::string* value) { return value && *value != "false" && *value != "no"; }

/// What accelerate launch hands its FSDP plugin through the environment, with the launcher's own
/// defaults (accelerate 1.15, commands/launch.py, utils/launch.py).
void add_fsdp(const LaunchCommand& command, Translation& translation) {
  struct Default {
    std::string_view name, value;
  };
  constexpr auto kDefaults = std::to_array<Default>({{"fsdp_version", "1"},
                                                     {"fsdp_sharding_strategy", "FULL_SHARD"},
                                                     {"fsdp_reshard_after_forward", ""},
                                                     {"fsdp_auto_wrap_policy", "NO_WRAP"},
                                                     {"fsdp_min_num_params", "100000000"},
                                                     {"fsdp_transformer_layer_cls_to_wrap", ""},
                                                     {"fsdp_backward_prefetch", "NO_PREFETCH"},
                                                     {"fsdp_forward_prefetch", "false"},
                                                     {"fsdp_use_orig_params", "true"},
                                                     {"fsdp_cpu_ram_efficient_loading", "true"},
                                                     {"fsdp_sync_module_states", "true"},
                                                     {"fsdp_offload_params", "false"},
                                                     {"fsdp_activation_checkpointing", "false"}});
  JsonObject config;
  for (const Default& setting : kDefaults) {
    const std::string* given = setting_of(command, setting.name);
    const std::string value = given ? *given : std::string(setting.value);
    const bool is_number = setting.name == "fsdp_min_num_params";
    if (!value.empty()) config.add_json(setting.name, is_number ? value : json_quoted(value));
  }
  translation.add("fsdp", "true");
  translation.add("fsdp_config", config.text());
}

/// accelerate's DeepSpeedPlugin (1.15, utils/dataclasses.py): a ds_config's file, or one made of
/// the launcher's own settings.
void add_deepspeed(const LaunchCommand& command, Translation& translation) {
  const auto said = [&](std::string_view name, std::string_view otherwise) {
    const std::string* value = setting_of(command, name);
    return value ? *value : std::string(otherwise);
  };
  if (const std::string* file = setting_of(command, "deepspeed_config_file")) {
    translation.add("deepspeed", *file);
    return;
  }
  const auto device = [&](std::string_view name) {
    return JsonObject().add("device", said(name, "none"));
  };
  JsonObject config;
  config.add("zero_optimization", JsonObject()
                                      .add_json("stage", said("zero_stage", "2"))
                                      .add("offload_optimizer", device("offload_optimizer_device"))
                                      .add("offload_param", device("offload_param_device")));
  const std::string* clipping = setting_of(command, "gradient_clipping");
  if (clipping && *clipping != "auto") config.add_json("gradient_clipping", *clipping);
  translation.add("deepspeed", config.text());
}

/// What accelerate does to the run beside counting processes.
Result<void> add_launcher(const LaunchCommand& command, Translation& translation) {
  if (is_on(setting_of(command, "use_parallelism_config")))
    return unsupported("Trainer over a parallelism_config is not modelled", "accelerate launch",
                       "DDP, FSDP and DeepSpeed are");
  if (is_on(setting_of(command, "use_deepspeed"))) add_deepspeed(command, translation);
  if (is_on(setting_of(command, "use_fsdp"))) add_fsdp(command, translation);
  const std::string* precision = setting_of(command, "mixed_precision");
  if (!precision || *precision == "no") return {};
  if (*precision != "bf16" && *precision != "fp16")
    return unsupported(fmt::format("mixed precision {} is not modelled", *precision),
                       "accelerate launch", "bf16, fp16 or no");
  translation.add(*precision, "true");
  return {};
}

}  // namespace

std::vector<std::string_view> training_argument_fields() {
  std::vector<std::string_view> names = transformers::training_argument_names();
  std::erase_if(names, [](std::string_view name) {
    return transformers::is_trl_argument(name) || name == "scored_tokens" ||
           name == "cut_cross_entropy" || name == "pref_loss" ||
           name == "prepare_model_for_kbit_training" ||
           (name.starts_with("lora_") && name.ends_with("_kernel"));
  });
  return names;
}

Result<Translation> begin_trainer(const LaunchCommand& command) {
  Translation translation = begin_translation(command, Translation::Command::train);
  translation.add("framework", "transformers");
  if (const Result<void> done = add_launcher(command, translation); !done)
    return tl::unexpected(done.error());
  return translation;
}

Result<void> add_training_arguments(Settings& settings, Translation& translation,
                                    TrainerConfig trainer) {
  TrainRecipe scratch;
  if (trainer) trainer->start(scratch);
  const bool says_precision = settings.find("bf16") || settings.find("fp16");
  if (says_precision)  // TrainingArguments' own come before what the launcher says
    std::erase_if(translation.options,
                  [](const auto& o) { return o.first == "bf16" || o.first == "fp16"; });
  for (const GivenSetting& setting : settings.all()) {
    const bool known =
        is_field(setting.name) || (trainer && transformers::is_trl_argument(setting.name));
    const bool unset = setting.value.kind == YamlNode::Kind::null ||
                       (setting.value.text == "None" && setting.name != "max_length");
    if (!known || unset) continue;
    if (const Result<void> done = add_argument(setting, scratch, translation); !done) return done;
  }
  return {};
}

void add_default(Translation& translation, std::string name, std::string value) {
  const bool there = std::ranges::any_of(translation.options,
                                         [&](const auto& option) { return option.first == name; });
  if (!there) translation.add(std::move(name), std::move(value));
}

void add_attention(Settings& settings, std::string_view name, Translation& translation) {
  const std::optional<std::string> value = settings.text(name);
  if (!value || *value == "None") return;
  constexpr std::array<std::string_view, 5> kKnown{
      "eager", "sdpa", "flash_attention_2", "flash_attention_3", "kernels-community/flash-attn2"};
  if (*value == "eager" || *value == "sdpa")
    translation.add("attention", *value);
  else if (value->find("flash") != std::string::npos)
    translation.add("attention", "flash");
  else
    settings.fail(*settings.find(name), fmt::format("attention \"{}\" is not modelled", *value),
                  suggestion(*value, kKnown));
}

void add_weights(Settings& settings, std::string_view name, Translation& translation) {
  constexpr std::array<std::string_view, 4> kTypes{"auto", "bfloat16", "float16", "float32"};
  std::optional<std::string> value = settings.text(name);
  if (!value || *value == "auto" || *value == "None") return;
  if (value->starts_with("torch.")) value->erase(0, std::string_view("torch.").size());
  constexpr std::array<std::string_view, 4> kOurs{"", "bf16", "fp16", "fp32"};
  const auto found = std::ranges::find(kTypes, *value);
  if (found == kTypes.end())
    return settings.fail(*settings.find(name), fmt::format("unknown value \"{}\"", *value),
                         suggestion(*value, kTypes));
  translation.add("weights", kOurs[static_cast<std::size_t>(found - kTypes.begin())]);
}

void add_lora(const LoraWords& lora, Translation& translation) {
  const bool all = lora.targets.size() == 1 && lora.targets.front() == "all-linear";
  JsonObject config;
  config.add("r", lora.rank).add("lora_dropout", lora.dropout);
  config.add_json("target_modules", !lora.target_pattern.empty() ? json_quoted(lora.target_pattern)
                                    : lora.targets.empty()       ? "null"
                                    : all                        ? json_quoted("all-linear")
                                                                 : json_list(lora.targets));
  if (lora.alpha) config.add("lora_alpha", *lora.alpha);
  if (lora.use_rslora) config.add("use_rslora", true);
  if (!lora.modules_to_save.empty()) config.add("modules_to_save", lora.modules_to_save);
  if (!lora.rank_pattern.empty()) config.add_json("rank_pattern", lora.rank_pattern);
  if (!lora.layers_to_transform.empty())
    config.add_json("layers_to_transform",
                    fmt::format("[{}]", fmt::join(lora.layers_to_transform, ", ")));
  if (lora.use_dora) config.add("use_dora", true);
  translation.add("peft", config.text());
}

void add_quantization(const QuantizationWords& quantization, Translation& translation) {
  JsonObject config;
  if (quantization.bits == 8)
    config.add("load_in_8bit", true);
  else
    config.add("load_in_4bit", true)
        .add("bnb_4bit_quant_type", quantization.type)
        .add("bnb_4bit_use_double_quant", quantization.double_quant)
        .add("bnb_4bit_compute_dtype", quantization.compute_dtype);
  translation.add("quantization", config.text());
}

}  // namespace memtape::launch
