// SPDX-License-Identifier: Apache-2.0
// The tables of options as data, from which other things are made: the Python package, schemas of
// requests, and programs that draw requests.
#pragma once

#include <string>

#include "option/words.h"
#include "report/json_parts.h"

namespace memtape::answer {

/// The upstream file or API that it mirrors ("vllm/engine/arg_utils.py"), or "memtape".
std::string_view source_of(const option::Option& option);
/// Whether it is neither a flag of an engine nor one of TrainingArguments.
bool is_of_memtape(const option::Option& option);

/// All options of train, of serve with each of its engines, and of plan.
std::string options_json();

/// The output of `memtape COMMAND --help --json`: the operands and options of the command.
std::string help_json(const option::Syntax& syntax);

/// The members "of", "summary", "operands" and "options" of a command.
void write_syntax(report::JsonWriter& out, const option::Syntax& syntax);
/// The members of an option, within its object.
void write_members(report::JsonWriter& out, const option::Option& option);
/// "engines": the serving engines with their flags.
void write_engines(report::JsonWriter& out);

}  // namespace memtape::answer
