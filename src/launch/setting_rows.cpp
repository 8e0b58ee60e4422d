// SPDX-License-Identifier: Apache-2.0
#include "launch/setting_rows.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace memtape::launch {
namespace {

template <class Number>
std::optional<std::string> as_text(const std::optional<Number>& number) {
  return number ? std::optional(fmt::format("{}", *number)) : std::nullopt;
}

std::optional<std::string> value_of(const SettingRow& row, Settings& settings) {
  switch (row.kind) {
    case RowKind::whole: return as_text(settings.whole(row.setting));
    case RowKind::number: return as_text(settings.number(row.setting));
    case RowKind::text: return settings.text(row.setting);
    case RowKind::truth:
      if (!settings.find(row.setting)) return std::nullopt;
      return settings.on(row.setting) ? "true" : "false";
    case RowKind::on_alone:
      return settings.on(row.setting) ? std::optional<std::string>("true") : std::nullopt;
  }
  return std::nullopt;
}

/// Calls `use` with each row that says something, and what it says.
template <class Use>
void for_each_said(std::span<const SettingRow> rows, Settings& settings, Use&& use) {
  for (const SettingRow& row : rows) {
    std::string value = value_of(row, settings).value_or(std::string(row.otherwise));
    if (!value.empty()) use(row, std::move(value));
  }
}

}  // namespace

void add_options(std::span<const SettingRow> rows, Settings& settings, Translation& translation) {
  for_each_said(rows, settings, [&](const SettingRow& row, std::string value) {
    translation.add(row.as, std::move(value));
  });
}

void add_members(std::span<const SettingRow> rows, Settings& settings, JsonObject& object) {
  for_each_said(rows, settings, [&](const SettingRow& row, const std::string& value) {
    if (row.kind == RowKind::text)
      object.add(row.as, value);
    else
      object.add_json(row.as, value);
  });
}

std::optional<std::string> in_our_words(std::string_view setting, std::span<const Word> words,
                                        Settings& settings) {
  std::vector<std::string_view> names;
  for (const Word& word : words) names.push_back(word.theirs);
  const std::optional<std::string> said = settings.choice(setting, names);
  const auto found = std::ranges::find(words, said.value_or(""), &Word::theirs);
  return found == words.end() ? std::nullopt : std::optional(std::string(found->ours));
}

std::string_view torch_optimizer(std::string_view class_name) {
  constexpr auto kClasses = std::to_array<Word>({{"AdamW", "adamw"},
                                                 {"Adam", "adam"},
                                                 {"SGD", "sgd"},
                                                 {"Adagrad", "adagrad"},
                                                 {"RMSprop", "rmsprop"},
                                                 {"Adafactor", "adafactor"},
                                                 {"NAdam", "nadam"},
                                                 {"Adamax", "adamax"}});
  const auto found = std::ranges::find(kClasses, class_name, &Word::theirs);
  return found == kClasses.end() ? std::string_view() : found->ours;
}

}  // namespace memtape::launch
