// SPDX-License-Identifier: Apache-2.0
#include "option_schema.h"

#include <algorithm>
#include <string>

#include "answer/plan_options.h"
#include "answer/serve_words.h"
#include "base/comma_list.h"

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
    for (const std::string& word : split_at_commas(form.substr(1, form.size() - 2)))
      schema["enum"].push_back(word);
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

void add(Json& properties, std::span<const answer::NamedOption> table, bool takes_lists) {
  for (const answer::NamedOption& option : table) {
    Json schema = value_schema(option.value, takes_lists || option.repeatable);
    schema["description"] = option.help;
    properties[property_name(option.name)] = std::move(schema);
  }
}

void add(Json& properties, std::span<const ServeFlag> flags) {
  for (const ServeFlag& flag : flags) {
    Json schema = value_schema(flag.value, false);
    schema["description"] = flag.help;
    std::string_view name = flag.name();
    name.remove_prefix(std::min(name.find_first_not_of('-'), name.size()));
    properties[property_name(name)] = std::move(schema);
  }
}

}  // namespace

Json option_properties(std::string_view command) {
  Json properties = Json::object();
  if (command == "serve") add(properties, answer::serve_flags("").front());
  if (command == "plan serve") add(properties, answer::plan_serve_options(), false);
  if (command == "plan train") add(properties, answer::plan_options(), false);
  if (command == "train") add(properties, answer::train_options(), false);
  if (command == "plan train") {
    std::vector<answer::NamedOption> shared;
    std::ranges::copy_if(answer::train_options(), std::back_inserter(shared),
                         answer::is_shared_with_plan);
    add(properties, shared, true);
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
