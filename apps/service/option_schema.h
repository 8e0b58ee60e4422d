// SPDX-License-Identifier: Apache-2.0
// The options of a command as a JSON Schema, made from the tables against which the command line is
// read. There is one property for each option; its name is written with _.
#pragma once

#include <string_view>

#include <nlohmann/json.hpp>

namespace memtape::service {

using Json = nlohmann::ordered_json;

/// {"gpu": {"type": "string", "description": ...}, ...} for `train`, `serve`, `plan train` or `plan
/// serve`.
Json option_properties(std::string_view command);

/// An object in which the model and the options of `command` are side by side. Other members count
/// as options, too (TrainingArguments, an engine's own).
Json request_schema(std::string_view command);

}  // namespace memtape::service
