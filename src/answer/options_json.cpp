// SPDX-License-Identifier: Apache-2.0
#include "answer/options_json.h"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "answer/command_words.h"
#include "framework/train_arguments.h"
#include "predict/serve.h"
#include "release/package.h"
#include "report/json_parts.h"

namespace memtape::answer {
namespace {

using option::Option;
using report::JsonWriter;

/// The engine whose flag it is, or null.
const ServeEngine* engine_of(const Option& option) {
  for (const ServeEngine& engine : serve_engines())
    if (std::ranges::any_of(engine.flags, [&](const Option& flag) { return &flag == &option; }))
      return &engine;
  return nullptr;
}

/// "kind", with the range or the choices that it has.
void write_kind(JsonWriter& out, const Option& option) {
  constexpr std::array<std::string_view, 5> kKinds{"text", "truth", "whole", "real", "choice"};
  constexpr std::array<std::string_view, 3> kUnits{"none", "tokens", "bytes"};
  out.member("kind", option.is_switch() ? "switch" : kKinds[option.kind.index()]);
  if (const auto* whole = std::get_if<option::Whole>(&option.kind)) {
    out.member("least", whole->least);
    out.member("most", whole->most);
    if (whole->unit != option::Unit::none)
      out.member("unit", kUnits[static_cast<std::size_t>(whole->unit)]);
  } else if (const auto* real = std::get_if<option::Real>(&option.kind)) {
    out.key("least");
    out.raw(fmt::format("{}", real->least));
    out.key("most");
    out.raw(fmt::format("{}", real->most));
  }
  const std::vector<std::string> choices = option.choices();
  if (!choices.empty()) report::write_lines(out, "choices", choices);
}

void write_member(JsonWriter& out, std::string_view key, std::string_view text) {
  if (!text.empty()) out.member(key, text);
}

void write_words(JsonWriter& out, std::string_view key, std::string_view words) {
  std::vector<std::string> list;
  option::each_word(words, [&list](std::string_view word) { list.emplace_back(word); });
  if (!list.empty()) report::write_lines(out, key, list);
}

void write_option(JsonWriter& out, const Option& option) {
  out.begin_object();
  write_members(out, option);
  out.end_object();
}

void write_array(JsonWriter& out, std::string_view key, const option::Table& options) {
  out.key(key);
  out.begin_array();
  for (const Option* option : options) write_option(out, *option);
  out.end_array();
}

/// The options of a table that say how to answer, or the others.
option::Table part_of(option::Table table, bool of_answer) {
  std::erase_if(table, [of_answer](const Option* option) {
    return (option->group.name == kAnswerGroup) != of_answer || !is_of_memtape(*option);
  });
  return table;
}

void write_parts(JsonWriter& out, const option::Table& table) {
  write_array(out, "options", part_of(table, false));
  write_array(out, "answer", part_of(table, true));
}

void write_serve(JsonWriter& out) {
  out.begin_object();
  write_parts(out, serve_syntax({})->table);
  write_engines(out);
  out.end_object();
}

void write_plan(JsonWriter& out) {
  out.begin_object();
  write_array(out, "train", part_of(plan_train_syntax().table, false));
  write_array(out, "serve", part_of(plan_serve_syntax().table, false));
  out.end_object();
}

void write_train(JsonWriter& out) {
  const option::Table table = train_syntax().table;
  std::vector<std::string> arguments;
  for (const Option* option : table)
    if (!is_of_memtape(*option)) arguments.emplace_back(option->name());
  out.begin_object();
  write_parts(out, table);
  report::write_lines(out, "training_arguments", arguments);
  out.end_object();
}

}  // namespace

std::string_view source_of(const Option& option) {
  if (!option.group.source.empty()) return option.group.source;
  const ServeEngine* engine = engine_of(option);
  return engine ? engine->source : "memtape";
}

bool is_of_memtape(const Option& option) {
  const option::Table& of_train = all_train_options();
  const bool is_of_train = std::ranges::find(of_train, &option) != of_train.end();
  return !engine_of(option) && !(is_of_train && is_training_argument(option.name()));
}

void write_members(JsonWriter& out, const Option& option) {
  out.member("name", option.name());
  write_words(out, "spellings", option.spellings);
  write_kind(out, option);
  out.member("value", option.form);
  write_member(out, "word", option.word);
  write_member(out, "default", option.default_text);
  out.member("help", option.help_text());
  out.member("group", option.group.name);
  out.member("source", source_of(option));
  write_words(out, "sets", option.sets);
  out.member("repeatable", option.repeatable);
}

void write_engines(JsonWriter& out) {
  out.key("engines");
  out.begin_array();
  for (const ServeEngine& engine : serve_engines()) {
    out.begin_object();
    out.member("name", engine.name);
    out.member("summary", engine.summary);
    out.member("source", engine.source);
    write_array(out, "options", option::table_of(engine.flags));
    out.end_object();
  }
  out.end_array();
}

std::string options_json() {
  std::vector<std::string> names;
  for (const PackageFacts& facts : packages()) names.emplace_back(facts.name);
  JsonWriter out(JsonWriter::Layout::pretty);
  out.begin_object();
  out.member("schema", "memtape/1");
  out.member("command", "options");
  out.key("train");
  write_train(out);
  out.key("serve");
  write_serve(out);
  out.key("plan");
  write_plan(out);
  report::write_lines(out, "packages", names);
  out.end_object();
  return std::move(out).take() + "\n";
}

void write_syntax(JsonWriter& out, const option::Syntax& syntax) {
  out.member("of", syntax.command);
  out.member("summary", syntax.summary);
  out.key("operands");
  out.begin_array();
  for (const option::Operand& operand : syntax.operands) {
    out.begin_object();
    out.member("name", operand.name);
    out.member("help", operand.help);
    out.member("required", operand.is_required);
    out.member("repeatable", operand.is_many);
    out.end_object();
  }
  out.end_array();
  write_array(out, "options", syntax.table);
}

std::string help_json(const option::Syntax& syntax) {
  JsonWriter out(JsonWriter::Layout::pretty);
  out.begin_object();
  out.member("schema", "memtape/1");
  out.member("command", "help");
  write_syntax(out, syntax);
  out.end_object();
  return std::move(out).take();
}

}  // namespace memtape::answer
