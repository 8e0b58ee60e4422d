// SPDX-License-Identifier: Apache-2.0
#include "formats/flags.h"

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/letter_case.h"
#include "base/text.h"
#include "base/typed_number.h"

namespace memtape {
namespace {

constexpr std::string_view kUnknown = "unknown argument";

/// Options of memtape that no program read here has, though --gpu may be the beginning of one.
constexpr auto kOfMemtape = std::to_array<std::string_view>(
    {"--gpu", "--gpu-memory-bytes", "--context-bytes", "--json", "--html"});

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

std::optional<bool> on_or_off(std::string_view word) {
  const std::string text = lower_case(std::string(word));
  if (text == "true") return true;
  return text == "false" ? std::optional(false) : std::nullopt;
}

/// A word that starts a flag; "-1" and "-" are values.
bool starts_flag(std::string_view word) {
  if (word.size() < 2 || word.front() != '-') return false;
  return !is_digit(word[1]) && !(word[1] == '.' && word.size() > 2 && is_digit(word[2]));
}

class FlagReader {
 public:
  FlagReader(std::span<const std::string> words, std::span<const Flag> table,
             const FlagStyle& style)
      : words_(words), table_(table), style_(style) {}

  Result<ReadFlags> read() {
    while (at_ < words_.size()) {
      if (!starts_flag(words_[at_])) {
        if (style_.stop_at_operand) break;
        read_.operands.push_back(words_[at_++]);
      } else if (words_[at_] == "--") {
        ++at_;
        if (style_.stop_at_operand) break;
      } else if (const Result<void> done = flag(); !done) {
        return tl::unexpected(done.error());
      }
    }
    read_.end = at_;
    return std::move(read_);
  }

 private:
  std::string spelled(std::string_view word) const {
    std::string name(word);
    if (style_.underscores_are_dashes && name.starts_with("--"))
      std::ranges::replace(name, '_', '-');
    return name;
  }

  const Flag* exactly(std::string_view name) const {
    const auto found =
        std::ranges::find_if(table_, [&](const Flag& flag) { return spelled(flag.name) == name; });
    return found == table_.end() ? nullptr : &*found;
  }

  /// The one name that begins so, or nothing when there are several or none.
  const Flag* by_prefix(std::string_view name) const {
    if (!style_.prefixes || name.size() < 3 || !name.starts_with("--")) return nullptr;
    const Flag* only = nullptr;
    for (const Flag& flag : table_) {
      if (!spelled(flag.name).starts_with(name)) continue;
      if (only && only->meaning != flag.meaning) return nullptr;
      only = &flag;
    }
    return only;
  }

  /// -xVALUE, for a single letter that takes one.
  const Flag* with_value_attached(std::string_view word) const {
    if (!style_.attached_values || word.size() < 3 || word[1] == '-') return nullptr;
    const Flag* flag = exactly(word.substr(0, 2));
    return flag && flag->arity != Arity::none ? flag : nullptr;
  }

  /// "one of --model_name_or_path, --model_revision"; empty where one is meant, which goes on by a few
  /// letters.
  std::string names_that_begin(std::string_view typed, std::string_view best) const {
    constexpr std::size_t kMost = 6, kFewLetters = 4;
    if (!style_.prefixes || best.size() <= typed.size() + kFewLetters) return {};
    std::vector<std::string_view> names;
    for (const Flag& flag : table_)
      if (spelled(flag.name).starts_with(spelled(typed)) &&
          std::ranges::find(names, flag.name) == names.end())
        names.push_back(flag.name);
    return names.size() < 2 || names.size() > kMost
               ? std::string()
               : fmt::format("one of {}", fmt::join(names, ", "));
  }

  Result<void> unknown(std::string_view typed, bool has_value) {
    std::vector<std::string_view> names;
    for (const Flag& flag : table_) names.push_back(flag.name);
    const std::string_view best = nearest(typed, names);
    if (style_.unknown_pass) {
      const bool takes = !has_value && at_ < words_.size() && !starts_flag(words_[at_]);
      read_.unknown.push_back({std::string(typed), best, takes});
      if (takes) ++at_;
      return {};
    }
    if (std::string several = names_that_begin(typed, best); !several.empty())
      return bad_input(fmt::format("{} is the beginning of several arguments", typed),
                       std::string(style_.program), std::move(several));
    return bad_input(fmt::format("{} {}", kUnknown, typed), std::string(style_.program),
                     best.empty() ? std::string() : fmt::format("did you mean {}?", best));
  }

  Result<void> flag() {
    const std::string& word = words_[at_++];
    const std::size_t equals = word.find('=');
    const std::string name = spelled(std::string_view(word).substr(0, equals));
    const Flag* flag = exactly(name);
    if (!flag && std::ranges::find(kOfMemtape, name) != kOfMemtape.end())
      return bad_input(fmt::format("{} is memtape's own", name), std::string(style_.program),
                       "write it before --");
    if (!flag) flag = by_prefix(name);
    if (flag) return values(*flag, equals == std::string::npos ? nullptr : &word, equals + 1);
    if (const Flag* letter = with_value_attached(word)) return values(*letter, &word, 2);
    return unknown(word.substr(0, equals), equals != std::string::npos);
  }

  /// The value of a switch, as its own word's end or as the next word.
  std::optional<bool> value_of_switch(const std::string* word, std::size_t from) {
    if (!style_.truths) return std::nullopt;
    if (word) return on_or_off(std::string_view(*word).substr(from));
    const auto on = at_ < words_.size() ? on_or_off(words_[at_]) : std::nullopt;
    if (on) ++at_;
    return on;
  }

  void turn(const Flag& flag, bool on) {
    const Flag* meant = on ? &flag : exactly(fmt::format("--no-{}", flag.name.substr(2)));
    if (meant) read_.given.push_back({.flag = meant, .values = {}});
  }

  /// The values of `flag`; the first may be part of its own word, from `from` on.
  Result<void> values(const Flag& flag, const std::string* word, std::size_t from) {
    GivenFlag given{.flag = &flag, .values = {}};
    if (flag.arity == Arity::none && flag.name.starts_with("--"))
      if (const auto on = value_of_switch(word, from)) return turn(flag, *on), Result<void>{};
    if (word) {
      if (flag.arity == Arity::none)
        return bad_input(fmt::format("{} takes no value", flag.name), std::string(style_.program));
      given.values.push_back(word->substr(from));
    } else {
      const std::size_t most = flag.arity == Arity::none   ? 0
                               : flag.arity == Arity::many ? words_.size()
                                                           : 1;
      while (given.values.size() < most && at_ < words_.size() && !starts_flag(words_[at_]))
        given.values.push_back(words_[at_++]);
      if (flag.arity == Arity::one && given.values.empty())
        return bad_input(fmt::format("{} needs a value", flag.name), std::string(style_.program));
    }
    const bool whole = flag.value == "int", size = flag.value == "size";
    const bool is_number = (whole || size || flag.value == "float") && flag.arity != Arity::many;
    if (is_number && !given.values.empty())
      if (const std::string& text = given.values.front();
          !may_be_number(text, whole) || (size && text.starts_with('-')))
        return bad_input(fmt::format("unusable value \"{}\"", text), std::string(flag.name),
                         whole  ? "a whole number"
                         : size ? "a number from 0 on"
                                : "a number");
    read_.given.push_back(std::move(given));
    return {};
  }

  std::span<const std::string> words_;
  std::span<const Flag> table_;
  const FlagStyle& style_;
  std::size_t at_ = 0;
  ReadFlags read_;
};

bool means(const Flag& flag, std::string_view meaning) {
  return flag.meaning == meaning || (flag.meaning.empty() && flag.name == meaning);
}

}  // namespace

std::optional<std::string> ReadFlags::value(std::string_view meaning) const {
  std::optional<std::string> last;
  for (const GivenFlag& flag : given)
    if (means(*flag.flag, meaning) && !flag.values.empty()) last = flag.values.front();
  return last;
}

const GivenFlag* ReadFlags::last(std::string_view meaning) const {
  const auto found = std::find_if(given.rbegin(), given.rend(), [&](const GivenFlag& flag) {
    return means(*flag.flag, meaning);
  });
  return found == given.rend() ? nullptr : &*found;
}

bool ReadFlags::has(std::string_view meaning) const { return last(meaning) != nullptr; }

Result<ReadFlags> read_flags(std::span<const std::string> words, std::span<const Flag> table,
                             const FlagStyle& style) {
  return FlagReader(words, table, style).read();
}

bool is_foreign_flag(const Error& error) {
  return error.what.starts_with(kUnknown) && error.hint.empty();
}

Result<void> no_operands(const ReadFlags& flags, std::string_view program) {
  if (flags.operands.empty()) return {};
  return bad_input(fmt::format("unexpected word {}", flags.operands.front()), std::string(program),
                   "every argument is a flag or its value");
}

Remarks remarks_of(const ReadFlags& flags, std::string_view program) {
  Remarks remarks;
  for (const UnknownFlag& flag : flags.unknown)
    remarks.warnings.push_back(
        fmt::format("{}: {} {} is left out{}", program, kUnknown, flag.typed,
                    flag.nearest.empty() ? "" : fmt::format(" (did you mean {}?)", flag.nearest)));
  for (const GivenFlag& given : flags.given)
    if (given.flag->effect == Effect::not_modelled)
      remarks.not_modelled.push_back(
          fmt::format("{}: what {} does is not modelled", program, given.flag->name));
  return remarks;
}

}  // namespace memtape
