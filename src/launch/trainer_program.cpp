// SPDX-License-Identifier: Apache-2.0
#include "launch/trainer_program.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/json_reader.h"
#include "base/text.h"
#include "framework/transformers/arguments/training_arguments.h"
#include "launch/words.h"

namespace memtape::launch {
namespace {

/// A configuration that is not here, though a program ships one of that name.
void take_shipped_config(std::string& file, Reading& reading) {
  const std::string_view shipped =
      meaning_of(file.substr(file.rfind('/') + 1), data::shipped_ds_configs());
  if (shipped.empty()) return;
  reading.warn(fmt::format(
      "{}: not here, taken to be the one that axolotl, LLaMA-Factory or ms-swift ships", file));
  file = shipped;
}

/// A plain "no" of an argument that takes words (--save_strategy no): HfArgumentParser leaves those
/// as they are, where PyYAML reads a truth.
bool is_the_word_no(const GivenSetting& setting) {
  if (setting.value.kind != YamlNode::Kind::scalar || setting.value.text != "no") return false;
  const auto& all = transformers::training_arguments();
  const auto found = std::ranges::find_if(
      all, [&](const transformers::Argument& a) { return a.name() == setting.name; });
  return found != all.end() && !std::holds_alternative<option::OnOff>(found->kind);
}

void add_argument(const GivenSetting& setting, Reading& reading) {
  std::vector<std::string> values{is_the_word_no(setting) ? "no" : option_text(setting.value)};
  if (setting.name == "loss_type" && setting.value.kind == YamlNode::Kind::sequence) {
    values.clear();  // DPOConfig's is a list of names
    for (const YamlNode& name : setting.value.children) values.push_back(option_text(name));
  }
  if (setting.name == "deepspeed" && values.front() == "true")
    return reading.settings.fail(setting, "names no file", "--deepspeed ds_config.json");
  if (setting.name == "deepspeed" && !reading.command.files->read(values.front()))
    take_shipped_config(values.front(), reading);
  for (const std::string& value : values)
    reading.translation.add(setting.name, value, setting.where);
}

bool is_on(Settings& launcher, std::string_view name) {
  const std::optional<std::string> value = launcher.text(name);
  return value && *value != "false" && *value != "no";
}

/// accelerate's DeepSpeedPlugin (1.15, utils/dataclasses.py): a ds_config's file, or one made of
/// the launcher's own settings.
std::string deepspeed_of(Settings& launcher) {
  if (const auto file = launcher.text("deepspeed_config_file")) return *file;
  const std::span<const SettingRow> rows = data::accelerate_launch_settings().rows;
  JsonObject config;
  config.add("zero_optimization",
             said_members(rows, "zero", launcher)
                 .add("offload_optimizer", said_members(rows, "optimizer", launcher))
                 .add("offload_param", said_members(rows, "parameters", launcher)));
  const std::string clipping = launcher.text("gradient_clipping").value_or("auto");
  if (clipping != "auto") config.add_json("gradient_clipping", clipping);
  return config.text();
}

}  // namespace

void begin_trainer(Reading& reading) {
  begin_training(reading);
  Translation& translation = reading.translation;
  Settings& launcher = reading.command.launcher_settings;
  translation.add("framework", "transformers");
  const std::int64_t visible = reading.command.visible_gpus().value_or(1);
  if (!reading.command.gpus() && !reading.command.processes.one_for_each_gpu && visible > 1)
    translation.add("n_gpu", visible);
  if (is_on(launcher, "use_parallelism_config"))
    reading.settings.fail(unsupported("Trainer over a parallelism_config is not modelled",
                                      "accelerate launch", "DDP, FSDP and DeepSpeed are"));
  if (is_on(launcher, "use_deepspeed")) translation.add("deepspeed", deepspeed_of(launcher));
  if (is_on(launcher, "use_fsdp")) {
    translation.add("fsdp", "true");
    translation.add("fsdp_config",
                    said_members(data::accelerate_launch_settings().rows, "fsdp", launcher).text());
  }
  const std::string precision = launcher.text("mixed_precision").value_or("no");
  if (precision == "bf16" || precision == "fp16")
    translation.add(precision, "true");
  else if (precision != "no")
    reading.settings.fail(unsupported(fmt::format("mixed precision {} is not modelled", precision),
                                      "accelerate launch", "bf16, fp16 or no"));
}

std::vector<std::string_view> training_fields(const SettingsProgram&) {
  std::vector<std::string_view> names;
  for (const transformers::Argument& argument : transformers::training_arguments())
    if (argument.group.source == transformers::kTrainingArguments) names.push_back(argument.name());
  return names;
}

void add_training_arguments(const Settings& arguments, TrainerConfig trainer, Reading& reading) {
  if (arguments.find("bf16") || arguments.find("fp16"))
    reading.drop({"bf16", "fp16"});  // theirs come before what the launcher says
  const std::vector<std::string_view> fields = training_fields(*reading.program);
  for (const GivenSetting& setting : arguments.all()) {
    const bool known = std::ranges::find(fields, setting.name) != fields.end() ||
                       (trainer && transformers::is_trl_argument(setting.name));
    const bool unset = setting.value.kind == YamlNode::Kind::null ||
                       (setting.value.text == "None" && setting.name != "max_length");
    if (known && !unset) add_argument(setting, reading);
  }
}

void note_torchrun_of_its_own(Reading& reading) {
  const auto noted = reading.command.processes.note(
      reading.command.variables(),
      {{"NNODES", &ProcessCount::nodes}, {"NPROC_PER_NODE", &ProcessCount::on_node}});
  if (!noted) reading.settings.fail(tl::unexpected(noted.error()));
}

void add_attention(std::string_view setting, Reading& reading) {
  const std::string value = reading.settings.text(setting).value_or("None");
  if (value == "None") return;
  constexpr std::array<std::string_view, 5> kKnown{
      "eager", "sdpa", "flash_attention_2", "flash_attention_3", "kernels-community/flash-attn2"};
  const bool flash = value.find("flash") != std::string::npos;
  if (flash || value == "eager" || value == "sdpa")
    reading.translation.add("attention", flash ? "flash" : value);
  else
    reading.settings.fail(*reading.settings.find(setting),
                          fmt::format("attention \"{}\" is not modelled", value),
                          suggestion(value, kKnown));
}

void add_weights(std::string_view setting, Reading& reading) {
  constexpr auto kTypes = std::to_array<Word>(
      {{"auto", ""}, {"bfloat16", "bf16"}, {"float16", "fp16"}, {"float32", "fp32"}});
  std::string value = reading.settings.text(setting).value_or("auto");
  if (value == "auto" || value == "None") return;
  if (value.starts_with("torch.")) value.erase(0, std::string_view("torch.").size());
  const std::string_view ours = meaning_of(value, kTypes);
  if (ours.empty())
    return reading.settings.fail(*reading.settings.find(setting),
                                 fmt::format("unknown value \"{}\"", value),
                                 suggestion(value, words_of(kTypes)));
  reading.translation.add("weights", ours);
}

void add_lora(JsonObject config, const std::vector<std::string>& targets, std::string_view pattern,
              Reading& reading, bool finds_names) {
  const bool all = !finds_names && targets.size() == 1 && targets.front() == "all-linear";
  config.add_json("target_modules", !pattern.empty()  ? json_quoted(pattern)
                                    : targets.empty() ? "null"
                                    : all             ? json_quoted("all-linear")
                                                      : json_list(targets));
  reading.translation.add("peft", config.text());
}

void add_quantization(const QuantizationWords& quantization, Reading& reading) {
  JsonObject config;
  if (quantization.bits == 8)
    config.add("load_in_8bit", true);
  else
    config.add("load_in_4bit", true)
        .add("bnb_4bit_quant_type", quantization.type)
        .add("bnb_4bit_use_double_quant", quantization.double_quant)
        .add("bnb_4bit_compute_dtype", quantization.compute_dtype)
        .add("bnb_4bit_quant_storage", quantization.storage);
  reading.translation.add("quantization", config.text());
}

bool add_loaded_bits(const QuantizationWords& in_4_bits, Reading& reading) {
  const bool in_4 = reading.settings.on("load_in_4bit"), in_8 = reading.settings.on("load_in_8bit");
  if (in_4)
    add_quantization(in_4_bits, reading);
  else if (in_8)
    add_quantization({.bits = 8}, reading);
  return in_4 || in_8;
}

}  // namespace memtape::launch
