// SPDX-License-Identifier: Apache-2.0
// The options of a command as a JSON Schema, made from the tables that the command line is read
// against: one property for each, its name with _.
#pragma once

#include <string_view>

#include <nlohmann/json.hpp>

namespace memtape::service {

using Json = nlohmann::ordered_json;

/// {"gpu": {"type": "string", "description": ...}, ...} of `train`, `serve`, `plan train` or `plan
/// serve`.
Json option_properties(std::string_view command);

/// An object with a model and the options of `command` side by side; what else it says is taken for
/// an option, too (TrainingArguments, an engine's own).
Json request_schema(std::string_view command);

}  // namespace memtape::service
