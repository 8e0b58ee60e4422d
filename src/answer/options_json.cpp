// SPDX-License-Identifier: Apache-2.0
#include "answer/options_json.h"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "answer/command_options.h"
#include "framework/train_arguments.h"
#include "predict/serve.h"
#include "release/package.h"
#include "report/json_parts.h"

namespace memtape::answer {
namespace {

using option::Option;
using report::JsonWriter;

bool is_of(const Option& option, std::span<const Option> options) {
  return std::ranges::any_of(options, [&](const Option& one) { return &one == &option; });
}

/// Whose option it is: an engine's, of transformers' TrainingArguments, or memtape's own.
std::string_view source_of(const Option& option) {
  for (const ServeEngine& engine : serve_engines())
    if (is_of(option, engine.flags)) return engine.name;
  const option::Table& of_train = all_train_options();
  const bool is_of_train = std::ranges::find(of_train, &option) != of_train.end();
  return is_of_train && is_training_argument(option.name()) ? "transformers" : "memtape";
}

/// "kind", with the range or the choices that it has.
struct KindWriter {
  JsonWriter& out;
  const Option& option;

  void operator()(option::Text) const {
    out.member("kind", option.is_switch() ? "switch" : "text");
    write_choices(option::listed_choices(option.form));
  }
  void operator()(option::OnOff) const {
    out.member("kind", option.is_switch() ? "switch" : "truth");
  }
  void operator()(option::Whole range) const {
    constexpr std::array<std::string_view, 3> kUnits{"", "tokens", "bytes"};
    out.member("kind", "whole");
    out.member("least", range.least);
    out.member("most", range.most);
    if (range.unit != option::Unit::none)
      out.member("unit", kUnits[static_cast<std::size_t>(range.unit)]);
  }
  void operator()(option::Real range) const {
    out.member("kind", "real");
    out.key("least");
    out.raw(fmt::format("{}", range.least));
    out.key("most");
    out.raw(fmt::format("{}", range.most));
  }
  void operator()(option::Choice choice) const {
    out.member("kind", "choice");
    write_choices({choice.names.begin(), choice.names.end()});
  }
  void write_choices(const std::vector<std::string>& names) const {
    if (!names.empty()) report::write_lines(out, "choices", names);
  }
};

void write_member(JsonWriter& out, std::string_view key, std::string_view text) {
  if (!text.empty()) out.member(key, text);
}

void write_words(JsonWriter& out, std::string_view key, std::string_view words) {
  std::vector<std::string> list;
  option::each_word(words, [&list](std::string_view word) { list.emplace_back(word); });
  if (!list.empty()) report::write_lines(out, key, list);
}

void write(JsonWriter& out, const Option& option) {
  out.begin_object();
  out.member("name", option.name());
  write_words(out, "spellings", option.spellings);
  std::visit(KindWriter{out, option}, option.kind);
  out.member("value", option.form);
  write_member(out, "word", option.word);
  write_member(out, "default", option.default_text);
  out.member("help", option.help_text());
  out.member("group", option.group);
  out.member("source", source_of(option));
  write_words(out, "sets", option.sets);
  out.member("repeatable", option.repeatable);
  out.end_object();
}

void write_array(JsonWriter& out, std::string_view key, const option::Table& options) {
  out.key(key);
  out.begin_array();
  for (const Option* option : options) write(out, *option);
  out.end_array();
}

template <class Row>
void write_array(JsonWriter& out, std::string_view key, std::span<const Row> options) {
  option::Table table;
  option::add(options, table);
  write_array(out, key, table);
}

void write_serve(JsonWriter& out) {
  out.begin_object();
  write_array(out, "options", serve_options());
  write_array(out, "answer", serve_answer_options());
  out.key("engines");
  out.begin_array();
  for (const ServeEngine& engine : serve_engines()) {
    out.begin_object();
    out.member("name", engine.name);
    out.member("summary", engine.summary);
    write_array(out, "options", engine.flags);
    out.end_object();
  }
  out.end_array();
  out.end_object();
}

/// `plan train` takes its own options and most of those of `train`.
void write_plan(JsonWriter& out) {
  option::Table train = plan_train_table();
  std::erase_if(train, [](const auto* option) { return is_training_argument(option->name()); });
  out.begin_object();
  write_array(out, "train", train);
  write_array(out, "serve", plan_serve_options());
  out.end_object();
}

void write_train(JsonWriter& out) {
  std::vector<std::string> arguments;
  for (const Option* option : all_train_options())
    if (is_training_argument(option->name())) arguments.emplace_back(option->name());
  out.begin_object();
  write_array(out, "options", common_train_options());
  write_array(out, "answer", answer_options());
  report::write_lines(out, "training_arguments", arguments);
  out.end_object();
}

}  // namespace

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

std::string help_json(const option::Syntax& syntax) {
  JsonWriter out(JsonWriter::Layout::pretty);
  out.begin_object();
  out.member("schema", "memtape/1");
  out.member("command", "help");
  out.member("of", syntax.command);
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
  out.end_object();
  return std::move(out).take();
}

}  // namespace memtape::answer
