// SPDX-License-Identifier: Apache-2.0
// Scripts of the users' own around transformers' Trainer: TrainingArguments and a few of theirs.
#include "launch/trainer_program.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/comma_list.h"
#include "launch/programs.h"
#include "launch/words.h"

namespace memtape::launch {
namespace {

void add_script_adapters(Reading& reading) {
  Settings& settings = reading.settings;
  const bool is_said =
      std::ranges::any_of(std::array{"lora_r", "lora_alpha", "lora_target_modules"},
                          [&](const char* name) { return settings.says(name); });
  if (settings.on("use_peft") || settings.on("use_lora") || settings.on("use_dora") || is_said)
    add_lora(reading.members("peft"), separate_names(settings.words("lora_target_modules")), {},
             reading);
  add_loaded_bits({.compute_dtype = "bfloat16"}, reading);
}

std::vector<std::string_view> shared_names() {
  std::vector<std::string_view> names = training_fields(kOwnScript);
  for (const std::string_view name : data::own_script_settings().names.all()) names.push_back(name);
  return names;
}

/// --names of the words that are in no list: the script's own, unless they are misspelt.
std::vector<std::string> names_of_its_own(const LaunchCommand& command) {
  const std::vector<std::string_view> known = shared_names();
  std::vector<std::string> own;
  for (const std::string& word : command.arguments) {
    if (!word.starts_with("--")) continue;
    std::string name = word.substr(2, word.find('=') - 2);
    std::ranges::replace(name, '-', '_');
    const bool is_known = std::ranges::any_of(known, [&](std::string_view k) {
      return k == name || (name.starts_with("no_") && k == std::string_view(name).substr(3));
    });
    if (!is_known && !is_misspelt(name, known)) own.push_back(std::move(name));
  }
  return own;
}

Result<Settings> read_own_script(const LaunchCommand& command, const WordStyle& style) {
  const std::vector<std::string> own = names_of_its_own(command);
  std::vector<std::string_view> names = shared_names();
  names.insert(names.end(), own.begin(), own.end());
  return read_words(command, style, names);
}

/// memtape's options that say what a name sounds like or its value is: --use_qlora, --type lora.
std::string_view sounds_like(std::string_view name, const std::vector<std::string>& values) {
  for (const std::string& value : values)
    if (const auto ours = meaning_of(value, data::adapter_words()); !ours.empty()) return ours;
  for (const std::string_view part : parts_between(name, '_'))
    for (const Word& known : data::adapter_words())
      if (part.starts_with(known.theirs) || part.ends_with(known.theirs)) return known.ours;
  return {};
}

void say_own_script(Reading& reading) {
  const std::string& script = reading.command.program;
  for (const std::string_view part : parts_between(script.substr(0, script.find('.')), '_'))
    if (meaning_of(part, data::adapter_words()) == "trainer")
      reading.translation.unread.push_back({script, "trainer"});
  for (const std::string& name : names_of_its_own(reading.command)) {
    // --full_finetune False says adapters.
    const bool all = name.starts_with("full_") || name.find("_full") != std::string::npos;
    const std::string_view instead =
        all ? "lora-rank peft freeze" : sounds_like(name, reading.settings.words(name));
    if (!instead.empty() && reading.settings.says(name) != all)
      reading.translation.unread.push_back({fmt::format("{}: --{}", script, name), instead});
    reading.warn(
        fmt::format("{}: --{} is the script's own and taken to have no effect", script, name));
  }
  take_script_model(reading);
  add_attention("attn_implementation", reading);
  reading.add_options();
  add_script_adapters(reading);
  add_training_arguments(reading.settings, nullptr, reading);
  reading.add_options("length");
  const bool has_length = !reading.translation.options.empty() &&
                          reading.translation.options.back().name == "sequence-length";
  reading.warn(fmt::format(
      "{} is taken to hand these TrainingArguments to transformers' Trainer and to fill each batch "
      "to {}",
      script, has_length ? "that length" : "the default of --sequence-length"));
}

}  // namespace

void take_script_model(Reading& reading) {
  Settings& settings = reading.settings;
  std::optional<std::string> model = settings.text("model_name_or_path");
  for (const char* name : {"config_name", "model_name", "base_model", "model_path"})
    if (!model) model = settings.text(name);
  reading.take_model(model, "--model_name_or_path MODEL, or --config_name for one from scratch");
  add_weights(settings.find("dtype") ? "dtype" : "torch_dtype", reading);
}

const SettingsProgram kOwnScript{.table = data::own_script_settings,
                                 .style = kScriptStyle,
                                 .say = say_own_script,
                                 .read = read_own_script,
                                 .checks_names = false};

bool looks_like_trainer_script(const LaunchCommand& command) {
  if (!command.program.ends_with(".py") && !command.is_module) return false;
  return std::ranges::any_of(command.arguments, [](std::string word) {
    std::ranges::replace(word, '-', '_');
    return word.starts_with("__model_name_or_path") ||
           word.starts_with("__per_device_train_batch_size");
  });
}

}  // namespace memtape::launch
