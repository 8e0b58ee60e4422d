// SPDX-License-Identifier: Apache-2.0
#include "option_schema.h"

#include <algorithm>
#include <string>

#include "answer/command_words.h"
#include "answer/options_json.h"

namespace memtape::service {
namespace {

Json value_schema(const option::Option& option, bool takes_lists) {
  const std::string_view form = option.form;
  if (form.empty()) return {{"type", "boolean"}};
  if (form == "N" && !takes_lists) return {{"type", {"integer", "string"}}};
  if (form == "X" && !takes_lists) return {{"type", {"number", "string"}}};
  if (option.has_only_choices() && !takes_lists) {
    Json schema{{"type", "string"}};
    for (const std::string& word : option.choices()) schema["enum"].push_back(word);
    return schema;
  }
  if (form.find("JSON") != form.npos) return {{"type", {"object", "string"}}};
  return {{"type", {"string", "number", "array"}}, {"items", {{"type", {"string", "number"}}}}};
}

std::string property_name(std::string_view option) {
  std::string name(option);
  std::ranges::replace(name, '-', '_');
  return name;
}

/// What the command takes beside an engine's flags, other programs' arguments and how to answer.
option::Table question_options(std::string_view command) {
  option::Table table;
  if (command == "train") table = answer::train_syntax().table;
  if (command == "plan train") table = answer::plan_train_syntax().table;
  if (command == "plan serve") table = answer::plan_serve_syntax().table;
  if (command == "serve") table = answer::serve_syntax({})->table;
  std::erase_if(table, [](const option::Option* option) {
    return option->group.name == answer::kAnswerGroup || !answer::is_of_memtape(*option);
  });
  return table;
}

}  // namespace

Json option_properties(std::string_view command) {
  Json properties = Json::object();
  for (const option::Option* option : question_options(command)) {
    // Of a plan, what train takes may be a list.
    const bool takes_lists = command == "plan train" && option->group.name != "The plan";
    Json schema = value_schema(*option, takes_lists || option->repeatable);
    schema["description"] = option->help_line();
    properties[property_name(option->name())] = std::move(schema);
  }
  return properties;
}

Json request_schema(std::string_view command) {
  Json properties{
      {"model",
       {{"type", "string"},
        {"description", "a name of the catalog (see models) or a Hugging Face hub id"}}}};
  properties.update(option_properties(command));
  return {{"type", "object"},
          {"properties", std::move(properties)},
          {"required", {"model"}},
          {"additionalProperties", true}};
}

}  // namespace memtape::service
