// SPDX-License-Identifier: Apache-2.0
#include "launch/reading.h"

#include <algorithm>
#include <array>
#include <deque>

#include <fmt/format.h>

#include "formats/flags.h"
#include "formats/yaml_pair.h"
#include "launch/programs.h"

namespace memtape::launch {
namespace {

constexpr auto kOnByDefault = std::to_array<std::string_view>(
    {"use_fast_tokenizer", "keep_linebreaks", "remove_unused_columns", "dataloader_pin_memory",
     "skip_memory_metrics", "log_on_each_node", "logging_nan_inf_filter",
     "average_tokens_across_devices", "gradient_checkpointing", "pad_to_max_length",
     "ignore_pad_token_for_loss"});

bool is_settings_file(std::string_view word) {
  return word.ends_with(".yaml") || word.ends_with(".yml") || word.ends_with(".json");
}

/// No word is a switch that is on; several are a list.
YamlNode node_of(const std::vector<std::string>& words) {
  if (words.size() < 2) return yaml_scalar(words.empty() ? "true" : words.front());
  YamlNode list{.kind = YamlNode::Kind::sequence, .key = {}, .text = {}, .children = {}};
  for (const std::string& word : words) list.children.push_back(yaml_scalar(word));
  return list;
}

Result<Settings> read_named(std::span<const std::string> words, std::string_view program,
                            bool negatives, std::span<const std::string_view> names) {
  std::deque<std::string> spelled;
  std::vector<Flag> table;
  for (const std::string_view name : names)
    table.push_back({spelled.emplace_back(fmt::format("--{}", name)), Arity::many, {}, name});
  for (const std::string_view name : kOnByDefault)
    if (negatives)
      table.push_back({spelled.emplace_back(fmt::format("--no_{}", name)), Arity::none, {}, name});
  const Result<ReadFlags> flags = read_flags(words, table, {.program = program});
  if (!flags) return tl::unexpected(flags.error());
  if (const auto fine = no_operands(*flags, program); !fine) return tl::unexpected(fine.error());
  Settings settings;
  for (const GivenFlag& given : flags->given)
    settings.set(
        {.name = std::string(given.flag->meaning),
         .value = given.flag->arity == Arity::none ? yaml_scalar("false") : node_of(given.values),
         .where = fmt::format("{}: {}", program, given.flag->name)});
  return settings;
}

/// name=value
Result<Settings> read_pairs(std::span<const std::string> words, std::string_view program) {
  Settings settings;
  for (const std::string& word : words) {
    Result<YamlNode> value = read_yaml_pair(word, program, "name=value after the file");
    if (!value) return tl::unexpected(value.error());
    settings.set({value->key, *value, fmt::format("{}: {}", program, word)});
  }
  return settings;
}

}  // namespace

Result<Settings> read_words(const LaunchCommand& command, const WordStyle& style,
                            std::span<const std::string_view> names) {
  using File = WordStyle::File;
  const std::string_view program = style.name.empty() ? command.program : style.name;
  std::span<const std::string> words = command.arguments;
  const bool begins = !words.empty() && is_settings_file(words.front());
  if (style.file == File::first && (words.empty() || words.front().starts_with('-')))
    return bad_input("no configuration is named", std::string(program),
                     fmt::format("{} cfg.yml", program));
  std::optional<std::string> file;
  if (style.file == File::first || (begins && style.file == File::pairs) ||
      (begins && style.file == File::only && words.size() == 1)) {
    file = words.front();
    words = words.subspan(1);
  }
  Result<Settings> settings = file ? read_settings_file(*command.files, *file) : Settings();
  if (!settings) return settings;
  const bool are_pairs = file && style.file == File::pairs;
  const Result<Settings> typed =
      are_pairs ? read_pairs(words, program) : read_named(words, program, style.negatives, names);
  if (!typed) return typed;
  const GivenSetting* const config = style.file == File::config ? typed->find("config") : nullptr;
  if (config)
    settings = read_settings_file(*command.files, config->value.text, style.flat_sections);
  if (settings) settings->set_all(*typed);
  return settings;
}

void Reading::add_options(std::string_view group) {
  for (const SaidRow& said : said_rows(rows(), group, settings)) {
    const GivenSetting* const given = settings.find(said.row->setting);
    translation.add(said.row->as, said.value, given ? given->where : "");
  }
}

void Reading::add_default(std::string_view option, std::string_view value) {
  if (std::ranges::find(translation.options, option, &SaidOption::name) ==
      translation.options.end())
    translation.add(option, value);
}

void Reading::drop(std::initializer_list<std::string_view> options) {
  std::erase_if(translation.options, [&](const SaidOption& said) {
    return std::ranges::find(options, said.name) != options.end();
  });
}

void Reading::take_model(const std::optional<std::string>& model, std::string hint,
                         std::string where) {
  if (model)
    translation.model = *model;
  else
    settings.fail(bad_input("no model is named", where.empty() ? std::string(name()) : where,
                            std::move(hint)));
}

void begin_training(Reading& reading) {
  reading.translation = begin_translation(reading.command, Translation::Command::train);
}

Result<Translation> translate(const SettingsProgram& program, const LaunchCommand& command) {
  const SettingTable table = program.table();
  std::vector<std::string_view> neutral;
  if (program.fields) neutral = program.fields(program);
  neutral.insert(neutral.end(), table.names.neutral.begin(), table.names.neutral.end());
  KnownNames known = table.names;
  known.neutral = neutral;
  known.others_pass = program.others_pass;
  Result<Settings> settings = program.read ? program.read(command, program.style)
                                           : read_words(command, program.style, known.all());
  if (!settings) return tl::unexpected(settings.error());
  Reading reading{&program, command, std::move(*settings)};
  program.begin(reading);
  for (const SettingRow& row : table.rows)
    if (row.group == "value")
      reading.settings.check_number(row.setting, row.kind == RowKind::whole);
  if (program.checks_names) reading.translation.remarks.add(reading.settings.check_names(known));
  program.say(reading);
  if (auto failure = reading.settings.failure()) return tl::unexpected(*std::move(failure));
  return std::move(reading.translation);
}

}  // namespace memtape::launch
