// SPDX-License-Identifier: Apache-2.0
// The tables of options as data, from which other things are made: the Python package, schemas of
// requests, and programs that draw requests.
#pragma once

#include <string>

#include "option/words.h"

namespace memtape::answer {

/// Whose option it is: the name of an engine, "transformers" for its TrainingArguments, or
/// "memtape".
std::string_view source_of(const option::Option& option);

/// All options of train, of serve with each of its engines, and of plan.
std::string options_json();

/// The output of `memtape COMMAND --help --json`: the operands and options of the command.
std::string help_json(const option::Syntax& syntax);

}  // namespace memtape::answer
