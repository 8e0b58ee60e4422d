// SPDX-License-Identifier: Apache-2.0
#include "formats/settings.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/edit_distance.h"
#include "base/letter_case.h"
#include "base/text.h"

namespace memtape {
namespace {

using SettingKind = YamlNode::Kind;

bool has(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

/// As PyYAML and HfArgumentParser together take it.
std::optional<bool> truth(const YamlNode& value) {
  const std::string text = lower_case(value.text);
  for (const char* yes : {"true", "yes", "on", "1"})
    if (text == yes) return true;
  for (const char* no : {"false", "no", "off", "0"})
    if (text == no) return false;
  return std::nullopt;
}

/// Python's and YAML's 500_000: underscores between digits.
std::string without_underscores(const std::string& text) {
  const auto is_digit = [&](std::size_t at) {
    return at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])) != 0;
  };
  std::string digits;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] != '_' || i == 0 || !is_digit(i - 1) || !is_digit(i + 1)) digits += text[i];
  return digits;
}

template <class Number>
std::optional<Number> number_of(const std::string& written) {
  const std::string text = without_underscores(written);
  Number value = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || at != end) return std::nullopt;
  return value;
}

}  // namespace

bool GivenSetting::says_something() const {
  if (value.kind == SettingKind::null) return false;
  if (value.kind != SettingKind::scalar) return !value.children.empty();
  return !value.text.empty() && value.text != "None" && truth(value).value_or(true);
}

void Settings::set(GivenSetting setting) {
  const auto found = std::ranges::find(settings_, setting.name, &GivenSetting::name);
  if (found != settings_.end())
    *found = std::move(setting);
  else
    settings_.push_back(std::move(setting));
}

void Settings::set_text(std::string_view name, std::string text, std::string_view where) {
  set({.name = std::string(name),
       .value = yaml_scalar(std::move(text)),
       .where = std::string(where)});
}

void Settings::set_all(const Settings& more) {
  for (const GivenSetting& setting : more.settings_) set(setting);
}

void Settings::set_members(std::string_view name, std::string_view file) {
  const GivenSetting* const nested = find(name);
  if (!nested) return;
  const YamlNode mapping = nested->value;
  for (const YamlNode& member : mapping.children)
    set({.name = fmt::format("{}.{}", name, member.key),
         .value = member,
         .where = fmt::format("{}: {}", place_in(file, member.line), member.key)});
}

void Settings::set_flat(const YamlNode& mapping, std::string_view file,
                        std::span<const std::string_view> sections, const std::string& before) {
  for (const YamlNode& member : mapping.children) {
    const std::string name = before + member.key;
    if (member.kind == SettingKind::mapping && (sections.empty() || has(sections, member.key)))
      set_flat(member, file, {}, name + ".");
    else
      set({.name = name,
           .value = member,
           .where = fmt::format("{}: {}", place_in(file, member.line), name)});
  }
}

void Settings::set_all(const YamlNode& mapping, std::string_view file) {
  for (const YamlNode& member : mapping.children)
    set({.name = member.key,
         .value = member,
         .where = fmt::format("{}: {}", place_in(file, member.line), member.key)});
}

const GivenSetting* Settings::find(std::string_view name) const {
  const auto found = std::ranges::find(settings_, name, &GivenSetting::name);
  return found == settings_.end() || found->value.kind == SettingKind::null ? nullptr : &*found;
}

bool Settings::says(std::string_view name) const {
  const GivenSetting* found = find(name);
  return found && found->says_something();
}

void Settings::fail(const GivenSetting& setting, std::string what, std::string hint) {
  if (std::ranges::find(failures_, setting.where, &Error::where) == failures_.end())
    failures_.push_back({ErrorKind::bad_input, std::move(what), setting.where, std::move(hint)});
}

void Settings::fail(tl::unexpected<Error> error) {
  if (failures_.empty()) failures_.push_back(std::move(error.value()));
}

std::optional<Error> Settings::failure() const {
  if (failures_.empty()) return std::nullopt;
  if (failures_.size() == 1) return failures_.front();
  std::vector<std::string> lines;
  for (const Error& failure : failures_) lines.push_back(failure.line());
  return Error{failures_.front().kind,
               fmt::format("{} faults: {}", lines.size(), fmt::join(lines, "; ")),
               {},
               {}};
}

bool Settings::on(std::string_view name, bool otherwise) {
  const GivenSetting* found = find(name);
  if (!found) return otherwise;
  const std::optional<bool> value =
      found->value.kind == SettingKind::scalar ? truth(found->value) : std::nullopt;
  if (!value)
    fail(*found, fmt::format("unusable value \"{}\"", option_text(found->value)), "true or false");
  return value.value_or(otherwise);
}

std::optional<std::string> Settings::text(std::string_view name) {
  const GivenSetting* found = find(name);
  if (!found) return std::nullopt;
  if (found->value.kind == SettingKind::scalar) return found->value.text;
  fail(*found, "one value is wanted here");
  return std::nullopt;
}

std::optional<std::int64_t> Settings::whole(std::string_view name) {
  const std::optional<std::string> text = this->text(name);
  if (!text) return std::nullopt;
  const std::optional<std::int64_t> value = number_of<std::int64_t>(*text);
  if (!value) fail(*find(name), fmt::format("unusable value \"{}\"", *text), "a whole number");
  return value;
}

std::optional<double> Settings::number(std::string_view name) {
  const std::optional<std::string> text = this->text(name);
  if (!text) return std::nullopt;
  const std::optional<double> value = number_of<double>(*text);
  if (value && std::isfinite(*value)) return value;
  fail(*find(name), fmt::format("unusable value \"{}\"", *text), "a number");
  return std::nullopt;
}

void Settings::check_number(std::string_view name, bool is_whole) {
  const GivenSetting* given = find(name);
  if (!given || !given->says_something() || given->value.text.starts_with('$')) return;
  if (is_whole)
    whole(name);
  else
    number(name);
}

std::optional<std::string> Settings::choice(std::string_view name,
                                            std::span<const std::string_view> names) {
  const std::optional<std::string> value = text(name);
  if (value && !has(names, *value))
    fail(*find(name), fmt::format("unknown value \"{}\"", *value), suggestion(*value, names));
  return value;
}

std::vector<std::string> Settings::words(std::string_view name) {
  const GivenSetting* found = find(name);
  if (!found) return {};
  if (found->value.kind == SettingKind::scalar) return {found->value.text};
  std::vector<std::string> words;
  for (const YamlNode& child : found->value.children) words.push_back(option_text(child));
  return words;
}

bool is_misspelt(std::string_view name, std::span<const std::string_view> known) {
  return std::ranges::any_of(known, [&](std::string_view k) {
    return k.starts_with(name) || (k.size() > 4 && edit_distance(name, k) <= 2);
  });
}

std::vector<std::string_view> KnownNames::all() const {
  std::vector<std::string_view> names;
  for (const auto& list : {modelled, not_modelled, neutral, refused})
    names.insert(names.end(), list.begin(), list.end());
  return names;
}

Remarks Settings::check_names(const KnownNames& known) {
  Remarks remarks;
  const std::vector<std::string_view> names = known.all();
  for (const GivenSetting& setting : settings_) {
    if (has(known.not_modelled, setting.name)) {
      if (setting.says_something())
        remarks.not_modelled.push_back(
            fmt::format("{}: what it does is not modelled", setting.where));
    } else if (has(known.refused, setting.name)) {
      const bool is_one = setting.value.text == "1" && !setting.name.starts_with("use_");  // a size
      if (setting.says_something() && !is_one) fail(setting, "is not modelled", "leave it out");
    } else if (!has(names, setting.name)) {
      const bool goes_on = std::ranges::any_of(names, [&](std::string_view name) {
        return name.size() > 8 && setting.name.starts_with(name);
      });
      if (known.others_pass && !goes_on && !is_misspelt(setting.name, names)) {
        remarks.warnings.push_back(fmt::format("{}: no such name, passed over", setting.where));
        continue;
      }
      const std::string_view best = nearest(setting.name, names);
      fail(setting, "unknown name",
           best.empty() ? std::string() : fmt::format("did you mean {}?", best));
    }
  }
  return remarks;
}

std::string option_text(const YamlNode& value) {
  if (value.kind == SettingKind::null) return {};
  if (value.kind != SettingKind::scalar) return to_json(value);
  const std::string json = to_json(value);
  return json == "true" || json == "false" ? json : value.text;
}

Result<Settings> read_settings(std::string_view text, std::string_view file) {
  const Result<YamlNode> mapping = read_yaml_mapping(text, file);
  if (!mapping) return tl::unexpected(mapping.error());
  Settings settings;
  settings.set_all(*mapping, file);
  return settings;
}

Result<Settings> read_settings_file(const Files& files, const std::string& path,
                                    std::span<const std::string_view> flat_sections) {
  const Result<std::string> text = files.read(path);
  if (!text) return tl::unexpected(text.error());
  if (flat_sections.empty()) return read_settings(*text, path);
  const Result<YamlNode> mapping = read_yaml_mapping(*text, path);
  if (!mapping) return tl::unexpected(mapping.error());
  Settings settings;
  settings.set_flat(*mapping, path, flat_sections);
  return settings;
}

}  // namespace memtape
