// SPDX-License-Identifier: Apache-2.0
#include "answer/options_json.h"

#include <span>
#include <vector>

#include "answer/command_options.h"
#include "framework/train_arguments.h"
#include "predict/serve.h"
#include "release/package.h"
#include "report/json_writer.h"

namespace memtape::answer {
namespace {

using report::JsonWriter;

void write_array(JsonWriter& out, std::string_view key, const option::Table& options) {
  out.key(key);
  out.begin_array();
  for (const option::Option* option : options) {
    out.begin_object();
    out.member("name", option->name());
    out.member("value", option->form);
    out.member("help", option->help_line());
    out.member("group", option->group);
    out.member("repeatable", option->repeatable);
    out.end_object();
  }
  out.end_array();
}

void write_array(JsonWriter& out, std::string_view key, std::span<const option::Option> options) {
  option::Table table;
  option::add(options, table);
  write_array(out, key, table);
}

/// With "spellings": "--ctx-size -c --max-model-len", each as it may be typed, the name first.
void write_flags(JsonWriter& out, std::string_view key, std::span<const ServeFlag> flags) {
  out.key(key);
  out.begin_array();
  for (const ServeFlag& flag : flags) {
    out.begin_object();
    out.member("name", flag.name());
    out.member("spellings", flag.spellings);
    out.member("value", flag.form);
    out.member("help", flag.help_line());
    out.end_object();
  }
  out.end_array();
}

void write_serve(JsonWriter& out) {
  out.begin_object();
  write_flags(out, "options", serve_options());
  write_flags(out, "answer", serve_answer_options());
  out.key("engines");
  out.begin_array();
  for (const ServeEngine& engine : serve_engines()) {
    out.begin_object();
    out.member("name", engine.name);
    out.member("summary", engine.summary);
    write_flags(out, "options", engine.flags);
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

}  // namespace

std::string options_json() {
  JsonWriter out(JsonWriter::Layout::pretty);
  out.begin_object();
  out.member("schema", "memtape/1");
  out.member("command", "options");
  out.key("train");
  out.begin_object();
  option::Table common;
  option::add(train_options(), common);
  write_array(out, "options", common);
  write_array(out, "answer", answer_options());
  out.key("training_arguments");
  out.begin_array();
  for (const option::Option* option : all_train_options())
    if (is_training_argument(option->name())) out.value(option->name());
  out.end_array();
  out.end_object();
  out.key("serve");
  write_serve(out);
  out.key("plan");
  write_plan(out);
  out.key("packages");
  out.begin_array();
  for (const PackageFacts& facts : packages()) out.value(facts.name);
  out.end_array();
  out.end_object();
  return std::move(out).take() + "\n";
}

}  // namespace memtape::answer
