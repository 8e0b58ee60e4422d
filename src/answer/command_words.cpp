// SPDX-License-Identifier: Apache-2.0
#include "answer/command_words.h"

#include <algorithm>

#include "answer/fits.h"
#include "framework/train_arguments.h"

namespace memtape::answer {
namespace {

using option::Option;
using option::Syntax;
using option::Words;

/// What the question's options come to: those of the table that neither say how to answer nor
/// stand in `besides`.
option::Table question_of(const Words& words, std::span<const Option> besides) {
  option::Table question = words.table;
  std::erase_if(question, [&](const Option* option) {
    const bool is_beside = std::ranges::any_of(besides, [&](auto& o) { return &o == option; });
    return is_beside || option->group == kAnswerGroup || option == &option::kHelp;
  });
  return question;
}

/// What was typed of the table, in that order; a switch has the value "".
NamedValues typed_of(const Words& words, const option::Table& table) {
  NamedValues typed;
  for (const auto& [option, value] : words.typed)
    if (std::ranges::find(table, option) != table.end())
      typed.emplace_back(option->name(), option->is_switch() ? "" : value);
  return typed;
}

}  // namespace

Syntax train_syntax() {
  Syntax syntax{.command = "train", .operands = {kModel}, .table = all_train_options()};
  option::add(answer_options(), syntax.table);
  return syntax;
}

Syntax plan_train_syntax() {
  Syntax syntax{.command = "plan train", .operands = {kModel}, .table = plan_train_table()};
  syntax.table.push_back(&kPlansAsCsv);
  option::add(output_options(), syntax.table);
  return syntax;
}

Syntax plan_serve_syntax() {
  Syntax syntax{.command = "plan serve",
                .operands = {{"MODEL", "catalog name, hub id or directory"}}};
  option::add(plan_serve_options(), syntax.table);
  syntax.table.push_back(&kPlansAsCsv);
  option::add(output_options(), syntax.table);
  return syntax;
}

Syntax fits_syntax() {
  static constexpr Option kStrict{"--strict", "", "without what may not fit", kAnswerGroup};
  Syntax syntax{.command = "fits"};
  option::add(fits_options(), syntax.table);
  syntax.table.push_back(&kStrict);
  option::add(output_options(), syntax.table);
  return syntax;
}

Syntax launch_syntax() {
  Syntax syntax{.command = "-- COMMAND...", .table = launch_table(), .takes_tail = true};
  option::add(answer_options(), syntax.table);
  return syntax;
}

OutputOptions output_of(const Words& words) {
  return {.json = words.has("json"),
          .quiet = words.has("quiet"),
          .explain = words.has("explain"),
          .strict = words.has("strict")};
}

RawOptions asked_of(const Words& words, std::size_t model, std::span<const Option> besides) {
  const option::Table question = question_of(words, besides);
  return {.model = words.operand(model),
          .values = option::in_table_order(words, question),
          .typed = typed_of(words, question),
          .html = words.text("html"),
          .snapshot = words.text("snapshot"),
          .csv = words.has("csv"),
          .rules = words.has("rules"),
          .output = output_of(words)};
}

Result<Words> Told::by(const Syntax& syntax) const {
  return is_values ? option::read_values(syntax, operands, values)
                   : option::read_words(syntax, words);
}

}  // namespace memtape::answer
