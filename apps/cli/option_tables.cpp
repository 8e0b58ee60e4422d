// SPDX-License-Identifier: Apache-2.0
#include "option_tables.h"

#include <array>

#include "answer/options_json.h"
#include "commands/commands.h"
#include "framework/transformers/arguments/training_arguments.h"
#include "framework/transformers/arguments/trl_config.h"
#include "release/package.h"

namespace memtape::cli {
namespace {

using report::JsonWriter;
using transformers::TrlConfig;
using transformers::TrlField;

/// An argument, whether anything depends on it, and its defaults before later releases.
void write_argument(JsonWriter& out, const TrainOption& argument) {
  out.begin_object();
  answer::write_members(out, argument);
  out.member("mirrors", argument.group.source);
  out.member("has_effect", argument.set != nullptr);
  out.key("earlier");
  out.begin_array();
  for (const auto& [change, earlier] : argument.earlier) {
    out.begin_object();
    out.member("package", facts_of(change.package).name);
    out.member("before", change.since.text());
    out.member("default", earlier);
    out.end_object();
  }
  out.end_array();
  out.end_object();
}

void write_training_arguments(JsonWriter& out) {
  out.key("training_arguments");
  out.begin_array();
  for (const TrainOption& argument : transformers::training_arguments())
    if (!transformers::is_trl_argument(argument.name())) write_argument(out, argument);
  out.end_array();
}

void write_trl(JsonWriter& out, const TrlConfig& config) {
  out.begin_object();
  out.member("name", config.name);
  out.member("trainer", config.trainer);
  out.key("fields");
  out.begin_array();
  for (const TrlField& field : transformers::trl_fields())
    if ((field.of & config.bit()) != 0) write_argument(out, field.argument);
  out.end_array();
  out.end_object();
}

void write_command(JsonWriter& out, const Command& command, Arguments typed = {}) {
  out.begin_object();
  answer::write_syntax(out, *syntax_of(command, typed));
  out.end_object();
}

}  // namespace

std::string option_tables() {
  constexpr std::array<const char*, 1> kServe{"serve"};
  JsonWriter out(JsonWriter::Layout::pretty);
  out.begin_object();
  out.key("commands");
  out.begin_array();
  for (const Command* command : commands()) {
    write_command(out, *command);
    if (command == &kPlanCommand) write_command(out, *command, kServe);
  }
  out.end_array();
  answer::write_engines(out);
  write_training_arguments(out);
  out.key("trl");
  out.begin_array();
  for (const TrlConfig* config : transformers::trl_configs()) write_trl(out, *config);
  out.end_array();
  out.end_object();
  return std::move(out).take();
}

}  // namespace memtape::cli
