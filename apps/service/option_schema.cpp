// SPDX-License-Identifier: Apache-2.0
#include "option_schema.h"

#include <algorithm>
#include <string>

#include "answer/command_options.h"
#include "framework/train_arguments.h"

namespace memtape::service {
namespace {

bool is_choice(std::string_view form) {
  return form.starts_with('{') && form.ends_with('}') && form.find("...") == form.npos;
}

/// `form`: how the help writes the value.
Json value_schema(std::string_view form, bool takes_lists) {
  if (form.empty()) return {{"type", "boolean"}};
  if (form == "N" && !takes_lists) return {{"type", {"integer", "string"}}};
  if (form == "X" && !takes_lists) return {{"type", {"number", "string"}}};
  if (is_choice(form) && !takes_lists) {
    Json schema{{"type", "string"}};
    for (const std::string& word : option::listed_choices(form)) schema["enum"].push_back(word);
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

void add_properties(Json& properties, const option::Table& table, bool takes_lists) {
  for (const option::Option* option : table) {
    Json schema = value_schema(option->form, takes_lists || option->repeatable);
    schema["description"] = option->help_line();
    properties[property_name(option->name())] = std::move(schema);
  }
}

void add_properties(Json& properties, std::span<const option::Option> options) {
  option::Table table;
  option::add(options, table);
  add_properties(properties, table, false);
}

}  // namespace

Json option_properties(std::string_view command) {
  Json properties = Json::object();
  if (command == "serve") add_properties(properties, answer::serve_options());
  if (command == "plan serve") add_properties(properties, answer::plan_serve_options());
  if (command == "train") add_properties(properties, common_train_options(), false);
  if (command != "plan train") return properties;
  add_properties(properties, answer::plan_options());
  option::Table shared = answer::plan_train_table();
  std::erase_if(shared, [](const option::Option* option) {
    return is_training_argument(option->name()) || option->group == "The plan";
  });
  add_properties(properties, shared, true);
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
