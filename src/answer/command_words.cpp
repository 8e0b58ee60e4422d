// SPDX-License-Identifier: Apache-2.0
#include "answer/command_words.h"

#include <algorithm>

#include "framework/train_arguments.h"

namespace memtape::answer {
namespace {

using option::Syntax;
using option::Words;

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
  static constexpr option::Option kStrict{"--strict", "", "without what may not fit", kAnswerGroup};
  Syntax syntax{.command = "fits"};
  option::add(fits_options(), syntax.table);
  syntax.table.push_back(&kStrict);
  option::add(output_options(), syntax.table);
  return syntax;
}

Syntax launch_syntax() {
  Syntax syntax{.command = "-- COMMAND...", .table = launch_table()};
  option::add(answer_options(), syntax.table);
  return syntax;
}

OutputOptions output_of(const Words& words) {
  return {.json = words.has("json"),
          .quiet = words.has("quiet"),
          .explain = words.has("explain"),
          .strict = words.has("strict")};
}

RawOptions train_of(const Words& words, const option::Table& question, std::size_t first) {
  return {.model = words.operand(first),
          .values = option::in_table_order(words, question),
          .typed = typed_of(words, question),
          .html = words.text("html"),
          .snapshot = words.text("snapshot"),
          .csv = words.has("csv"),
          .rules = words.has("rules"),
          .output = output_of(words)};
}

PlanTrainOptions plan_train_of(const Words& words, std::size_t first) {
  option::Table of_train = plan_train_table(), own;
  option::add(plan_options(), own);
  of_train.erase(of_train.begin(), of_train.begin() + std::ssize(own));
  PlanTrainOptions options{.train = train_of(words, of_train, first),
                           .values = option::in_table_order(words, own)};
  options.output = options.train.output;
  return options;
}

PlanServeOptions plan_serve_of(const Words& words, std::size_t first) {
  option::Table own;
  option::add(plan_serve_options(), own);
  return {.model = words.operand(first),
          .values = option::in_table_order(words, own),
          .csv = words.has("csv"),
          .output = output_of(words)};
}

FitsOptions fits_of(const Words& words) {
  option::Table own;
  option::add(fits_options(), own);
  return {.values = typed_of(words, own), .output = output_of(words)};
}

Result<Words> Told::by(const Syntax& syntax) const {
  return is_values ? option::read_values(syntax, operands, values)
                   : option::read_words(syntax, words);
}

Result<RawOptions> read_train_words(Arguments arguments) {
  const Result<Words> words = option::read_words(train_syntax(), arguments);
  if (!words) return tl::unexpected(words.error());
  return train_of(*words, all_train_options());
}

Result<LaunchOptions> read_launch_words(Arguments before, Arguments launched) {
  const Result<Words> words = option::read_words(launch_syntax(), before);
  if (!words) return tl::unexpected(words.error());
  return LaunchOptions{train_of(*words, launch_table()), {launched.begin(), launched.end()}};
}

}  // namespace memtape::answer
