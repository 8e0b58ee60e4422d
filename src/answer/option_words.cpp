// SPDX-License-Identifier: Apache-2.0
#include "answer/option_words.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "answer/plan_options.h"
#include "answer/serve_words.h"
#include "answer/train_options.h"
#include "workload/training_arguments.h"

namespace memtape::answer {
namespace {

bool is_truth_word(std::string_view text) {
  return text == "true" || text == "false" || text == "True" || text == "False";
}

/// How an option is written, and what values it takes.
struct Spelling {
  std::string word;  ///< "--gpu"
  bool is_switch = false, adds_up = false, may_be_bare = false;
};

bool is_same(std::string_view a, std::string_view b) {
  const auto letter = [](char c) { return c == '_' ? '-' : c; };
  return std::ranges::equal(a, b, {}, letter, letter);
}

std::optional<Spelling> of_table(std::span<const NamedOption> table, std::string_view name) {
  for (const NamedOption& option : table)
    if (is_same(option.name, name))
      return Spelling{fmt::format("--{}", option.name), option.value.empty(), option.repeatable};
  return std::nullopt;
}

std::optional<Spelling> of_arguments(std::string_view name) {
  for (const std::string_view argument : training_argument_names())
    if (is_same(argument, name))
      return Spelling{.word = fmt::format("--{}", argument), .may_be_bare = true};
  return std::nullopt;
}

bool is_truth(const OptionValue::Values& values) {
  return values.truth || (values.texts.size() == 1 && is_truth_word(values.texts.front()));
}

/// A truth, where our own option takes none, is meant for transformers' argument of that name:
/// gradient_checkpointing.
std::optional<Spelling> of_training(std::string_view name, const OptionValue::Values& values) {
  for (const auto& table : {train_options(), answer_options()})
    if (const auto found = of_table(table, name)) {
      const auto other = of_arguments(name);
      return other && !found->is_switch && is_truth(values) ? other : found;
    }
  return of_arguments(name);
}

std::optional<Spelling> of_server(std::string_view engine, std::string_view name) {
  for (const std::span<const ServeFlag> flags : serve_flags(engine))
    for (const ServeFlag& flag : flags) {
      std::string_view left = flag.spellings;
      while (!left.empty()) {
        const std::string_view word = left.substr(0, left.find(' '));
        left.remove_prefix(std::min(left.size(), word.size() + 1));
        const std::size_t dashes = word.find_first_not_of('-');
        if (dashes != word.npos && is_same(word.substr(dashes), name))
          return Spelling{.word = std::string(word),
                          .is_switch = flag.is_switch(),
                          .adds_up = false,
                          .may_be_bare = !flag.is_switch() && !flag.needs_value()};
      }
    }
  return std::nullopt;
}

std::string_view engine_of(std::span<const OptionValue> options) {
  for (const OptionValue& option : options)
    if (option.name == "engine" && !option.values.texts.empty()) return option.values.texts.front();
  return "";
}

void append(const Spelling& spelling, const OptionValue::Values& values,
            std::vector<std::string>& words) {
  if (values.is_absent) return;
  if (values.truth) {
    if (spelling.is_switch || spelling.may_be_bare) {
      if (*values.truth)
        words.push_back(spelling.word);
      else if (!spelling.is_switch)
        words.push_back(spelling.word + "=false");
      return;
    }
    words.insert(words.end(), {spelling.word, *values.truth ? "true" : "false"});
    return;
  }
  if (values.is_list && !spelling.adds_up) {
    words.insert(words.end(), {spelling.word, fmt::format("{}", fmt::join(values.texts, ","))});
    return;
  }
  for (const std::string& text : values.texts) words.insert(words.end(), {spelling.word, text});
}

std::optional<Spelling> of_command(std::string_view command, std::string_view engine,
                                   const OptionValue& option) {
  const std::string_view name = option.name;
  if (command == "serve") return of_server(engine, name);
  if (command == "plan serve") return of_table(plan_serve_options(), name);
  if (command == "plan train")
    if (const auto own = of_table(plan_options(), name)) return own;
  return of_training(name, option.values);
}

}  // namespace

void append_option_words(std::string_view command, std::span<const OptionValue> options,
                         std::vector<std::string>& words) {
  const std::string_view engine = engine_of(options);
  for (const OptionValue& option : options) {
    const auto spelling = of_command(command, engine, option);
    std::string plain = "--" + option.name;
    if (!spelling) std::ranges::replace(plain, '_', '-');
    append(spelling.value_or(Spelling{.word = plain}), option.values, words);
  }
}

}  // namespace memtape::answer
