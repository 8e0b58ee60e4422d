// SPDX-License-Identifier: Apache-2.0
#include "answer/option_words.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "answer/command_options.h"
#include "framework/train_arguments.h"
#include "predict/serve.h"

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

/// By any of its spellings without its dashes.
std::optional<Spelling> in_table(const option::Table& table, std::string_view name) {
  for (const option::Option* option : table) {
    std::optional<Spelling> found;
    option::any_word(option->spellings, [&](std::string_view word) {
      const std::size_t dashes = word.find_first_not_of('-');
      if (dashes == word.npos || !option::is_same_name(word.substr(dashes), name)) return false;
      found = Spelling{.word = std::string(word),
                       .is_switch = option->is_switch(),
                       .adds_up = option->repeatable,
                       .may_be_bare = !option->is_switch() && !option->needs_value()};
      return true;
    });
    if (found) return found;
  }
  return std::nullopt;
}

std::optional<Spelling> in_table(std::span<const option::Option> options, std::string_view name) {
  option::Table table;
  option::add(options, table);
  return in_table(table, name);
}

bool is_truth(const OptionValue::Values& values) {
  return values.truth || (values.texts.size() == 1 && is_truth_word(values.texts.front()));
}

/// A truth, where our own option takes none, is meant for transformers' argument of that name:
/// gradient_checkpointing.
std::optional<Spelling> of_training(std::string_view name, const OptionValue::Values& values) {
  option::Table own, arguments;
  for (const option::Option* option : all_train_options())
    (is_training_argument(option->name()) ? arguments : own).push_back(option);
  option::add(answer_options(), own);
  const auto found = in_table(own, name), other = in_table(arguments, name);
  if (!found) return other;
  return other && !found->is_switch && is_truth(values) ? other : found;
}

std::optional<Spelling> of_server(std::string_view engine, std::string_view name) {
  const auto known = find_serve_engine(engine.empty() ? serve_engines().front().name : engine);
  for (const auto& flags : {serve_options(), serve_answer_options(),
                            known ? (*known)->flags : std::span<const option::Option>()})
    if (const auto found = in_table(flags, name)) return found;
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
  if (command == "plan serve") return in_table(plan_serve_options(), name);
  if (command == "plan train")
    if (const auto own = in_table(plan_options(), name)) return own;
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
