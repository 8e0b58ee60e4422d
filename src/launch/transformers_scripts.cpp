// SPDX-License-Identifier: Apache-2.0
// Training scripts around transformers' Trainer: examples/pytorch/language-modeling/run_clm.py, and
// scripts of the users' own whose arguments are TrainingArguments beside a few of theirs.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/comma_list.h"
#include "launch/python_arguments.h"
#include "launch/setting_names.h"
#include "launch/trainer_program.h"
#include "launch/trainer_script.h"

namespace memtape::launch {
namespace {

constexpr auto kScriptsOnByDefault = std::to_array<std::string_view>(
    {"use_fast_tokenizer", "keep_linebreaks", "remove_unused_columns", "dataloader_pin_memory",
     "skip_memory_metrics", "log_on_each_node", "logging_nan_inf_filter",
     "average_tokens_across_devices", "gradient_checkpointing", "pad_to_max_length",
     "ignore_pad_token_for_loss"});

/// Names that scripts of all kinds give the same thing.
constexpr auto kLengths = std::to_array<std::string_view>(
    {"block_size", "max_seq_length", "model_max_length", "max_length", "cutoff_len", "seq_length"});
constexpr auto kOwnModelled = std::to_array<std::string_view>(
    {"model_name_or_path", "config_name", "dtype", "torch_dtype", "attn_implementation", "use_peft",
     "use_lora", "lora_r", "lora_dropout", "lora_target_modules", "lora_modules_to_save",
     "use_dora", "lora_alpha", "load_in_4bit", "load_in_8bit", "peft_config",
     "quantization_config"});

std::optional<std::string> model_of(Settings& settings) {
  std::optional<std::string> model = settings.text("model_name_or_path");
  return model ? model : settings.text("config_name");
}

/// Scripts of people's own take names one by one, or with commas between them.
std::vector<std::string> separate_names(const std::vector<std::string>& words) {
  std::vector<std::string> names;
  for (const std::string& word : words)
    for (std::string& name : split_at_commas(word)) names.push_back(std::move(name));
  return names;
}

void add_script_adapters(Settings& settings, Translation& translation) {
  // Files of a LoraConfig and a BitsAndBytesConfig, as trainer_loop.py takes them.
  for (const auto& [name, option] :
       {std::pair{"peft_config", "peft"}, {"quantization_config", "quantization"}})
    if (const std::optional<std::string> file = settings.text(name)) translation.add(option, *file);
  if (settings.on("use_peft") || settings.on("use_lora") || settings.says("lora_r"))
    add_lora({.rank = settings.whole("lora_r").value_or(8),
              .alpha = settings.number("lora_alpha"),
              .dropout = settings.number("lora_dropout").value_or(0.0),
              .targets = separate_names(settings.words("lora_target_modules")),
              .modules_to_save = separate_names(settings.words("lora_modules_to_save")),
              .rank_pattern = {},
              .layers_to_transform = {},
              .use_dora = settings.on("use_dora")},
             translation);
  if (settings.on("load_in_4bit"))
    add_quantization({.compute_dtype = "bfloat16"}, translation);
  else if (settings.on("load_in_8bit"))
    add_quantization({.bits = 8}, translation);
}

/// --names of the words that are in no list: the script's own, unless they are misspelt.
std::vector<std::string> names_of_its_own(const LaunchCommand& command,
                                          std::span<const std::string_view> known) {
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

}  // namespace

Result<Settings> read_script(const LaunchCommand& command,
                             std::span<const std::string_view> names) {
  const std::vector<std::string>& words = command.arguments;
  const auto ends = [&](std::string_view ending) {
    return words.size() == 1 && words.front().ends_with(ending);
  };
  if (!ends(".json") && !ends(".yaml") && !ends(".yml"))
    return read_python_arguments(
        words, {.name = command.program, .names = names, .on_by_default = kScriptsOnByDefault});
  const Result<std::string> text = command.files->read(words.front());
  if (!text) return tl::unexpected(text.error());
  return read_settings(*text, words.front());
}

std::vector<std::string_view> with_fields(std::span<const std::string_view> own) {
  std::vector<std::string_view> names = training_argument_fields();
  names.insert(names.end(), own.begin(), own.end());
  return names;
}

Result<void> take_model(const LaunchCommand& command, Settings& settings,
                        Translation& translation) {
  const std::optional<std::string> model = model_of(settings);
  if (!model)
    return bad_input("no model is named", command.program,
                     "--model_name_or_path MODEL, or --config_name for one from scratch");
  translation.model = *model;
  add_weights(settings, settings.find("dtype") ? "dtype" : "torch_dtype", translation);
  return {};
}

Result<Translation> finished(Settings& settings, Translation translation) {
  if (settings.failure()) return tl::unexpected(*settings.failure());
  return translation;
}

Result<Translation> translate_run_clm(const LaunchCommand& command) {
  const KnownNames known = data::run_clm_names();
  Result<Settings> settings = read_script(command, with_fields(known.all()));
  if (!settings) return tl::unexpected(settings.error());
  Result<Translation> translation = begin_trainer(command);
  if (!translation) return translation;
  const std::vector<std::string_view> neutral = with_fields(known.neutral);
  translation->remarks.add(settings->check_names({known.modelled, known.not_modelled, neutral}));
  if (const auto done = take_model(command, *settings, *translation); !done)
    return tl::unexpected(done.error());
  if (const auto done = add_training_arguments(*settings, *translation); !done)
    return tl::unexpected(done.error());
  if (const std::optional<std::int64_t> block_size = settings->whole("block_size")) {
    translation->add("sequence-length", *block_size);
  } else {
    // The tokenizer's model_max_length, cut to 1,024 where the model has fewer positions than that.
    translation->add("sequence-length", "1024");
    translation->remarks.warnings.emplace_back(
        "run_clm.py: without --block_size the tokenizer's length decides; blocks of 1024 tokens "
        "are taken");
  }
  return finished(*settings, std::move(*translation));
}

bool looks_like_trainer_script(const LaunchCommand& command) {
  if (!command.program.ends_with(".py")) return false;
  return std::ranges::any_of(command.arguments, [](std::string word) {
    std::ranges::replace(word, '-', '_');
    return word.starts_with("__model_name_or_path") ||
           word.starts_with("__per_device_train_batch_size");
  });
}

Result<Translation> translate_trainer_script(const LaunchCommand& command) {
  std::vector<std::string_view> known = with_fields(kOwnModelled);
  known.insert(known.end(), kLengths.begin(), kLengths.end());
  const std::vector<std::string> own = names_of_its_own(command, known);
  std::vector<std::string_view> names = known;
  names.insert(names.end(), own.begin(), own.end());
  Result<Settings> settings = read_script(command, names);
  if (!settings) return tl::unexpected(settings.error());
  Result<Translation> translation = begin_trainer(command);
  if (!translation) return translation;
  for (const std::string& name : own)
    translation->remarks.warnings.push_back(fmt::format(
        "{}: --{} is the script's own and taken to have no effect", command.program, name));
  if (const auto done = take_model(command, *settings, *translation); !done)
    return tl::unexpected(done.error());
  add_attention(*settings, "attn_implementation", *translation);
  add_script_adapters(*settings, *translation);
  if (const auto done = add_training_arguments(*settings, *translation); !done)
    return tl::unexpected(done.error());
  bool has_length = false;
  for (const std::string_view name : kLengths)
    if (const std::optional<std::int64_t> length = settings->whole(name); length && !has_length) {
      translation->add("sequence-length", *length);
      has_length = true;
    }
  translation->remarks.warnings.push_back(fmt::format(
      "{} is taken to hand these TrainingArguments to transformers' Trainer and to fill each batch "
      "to {}",
      command.program, has_length ? "that length" : "the default of --sequence-length"));
  return finished(*settings, std::move(*translation));
}

}  // namespace memtape::launch
