// SPDX-License-Identifier: Apache-2.0
#include "launch/setting_table.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/comma_list.h"
#include "base/text.h"
#include "launch/words.h"

namespace memtape::launch {
namespace {

template <class Number>
std::optional<std::string> as_text(const std::optional<Number>& number) {
  return number ? std::optional(fmt::format("{}", *number)) : std::nullopt;
}

/// "a=b|c": a is called b here, c is called c.
std::vector<Word> words_in(std::string_view choices) {
  std::vector<Word> words;
  for (const std::string_view word : parts_between(choices, '|')) {
    const std::size_t equals = word.find('=');
    words.push_back({word.substr(0, equals), word.substr(equals == word.npos ? 0 : equals + 1)});
  }
  return words;
}

std::optional<std::string> chosen(const SettingRow& row, Settings& settings) {
  const std::vector<Word> words = words_in(row.choices);
  const std::optional<std::string> said = settings.choice(row.setting, words_of(words));
  return said ? std::optional<std::string>(meaning_of(*said, words)) : std::nullopt;
}

std::optional<std::string> list_of(const SettingRow& row, Settings& settings) {
  std::vector<std::string> words = settings.words(row.setting);
  if (row.kind == RowKind::names) words = separate_names(words);
  if (words.empty()) return std::nullopt;
  return row.kind == RowKind::wholes ? fmt::format("[{}]", fmt::join(words, ", "))
                                     : json_list(words);
}

std::optional<std::string> value_of(const SettingRow& row, Settings& settings) {
  const GivenSetting* const given = settings.find(row.setting);
  if (!given) return std::nullopt;
  switch (row.kind) {
    case RowKind::same: return option_text(given->value);
    case RowKind::whole: return as_text(settings.whole(row.setting));
    case RowKind::number: return as_text(settings.number(row.setting));
    case RowKind::text: return settings.text(row.setting);
    case RowKind::truth: return settings.on(row.setting) ? "true" : "false";
    case RowKind::on_alone: return settings.on(row.setting) ? "true" : "";
    case RowKind::choice: return chosen(row, settings);
    case RowKind::json: return to_json(given->value);
    case RowKind::words:
    case RowKind::names:
    case RowKind::wholes: return list_of(row, settings);
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::string> separate_names(const std::vector<std::string>& words) {
  std::vector<std::string> names;
  for (const std::string& word : words)
    for (const std::string& name : split_at_commas(word))
      if (const std::string_view plain = trimmed(name); !plain.empty()) names.emplace_back(plain);
  return names;
}

void SaidRow::add_to(JsonObject& object) const {
  const bool is_text =
      row->kind == RowKind::text || row->kind == RowKind::same || row->kind == RowKind::choice;
  if (is_text)
    object.add(row->as, value);
  else
    object.add_json(row->as, value);
}

std::vector<SaidRow> said_rows(std::span<const SettingRow> rows, std::string_view group,
                               Settings& settings) {
  std::vector<SaidRow> said;
  for (const SettingRow& row : rows) {
    if (row.group != group || std::ranges::any_of(said, [&](const SaidRow& earlier) {
          return earlier.row->as == row.as;
        }))
      continue;
    std::string value = value_of(row, settings).value_or(std::string(row.otherwise));
    if (!value.empty()) said.push_back({&row, std::move(value)});
  }
  return said;
}

JsonObject said_members(std::span<const SettingRow> rows, std::string_view group,
                        Settings& settings) {
  JsonObject object;
  for (const SaidRow& said : said_rows(rows, group, settings)) said.add_to(object);
  return object;
}

std::string_view meaning_of(std::string_view word, std::span<const Word> list) {
  const auto found = std::ranges::find(list, word, &Word::theirs);
  return found == list.end() ? std::string_view() : found->ours;
}

std::vector<std::string_view> words_of(std::span<const Word> list) {
  std::vector<std::string_view> words;
  for (const Word& word : list) words.push_back(word.theirs);
  return words;
}

std::vector<std::string_view> names_in(std::string_view list) {
  std::vector<std::string_view> names;
  for (const std::string_view name : parts_between(list, ';')) names.push_back(trimmed(name));
  return names;
}

}  // namespace memtape::launch
