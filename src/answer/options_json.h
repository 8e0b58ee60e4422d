// SPDX-License-Identifier: Apache-2.0
// Tables of options as data, for what is made of them: the Python package, schemas of requests,
// programs that draw requests.
#pragma once

#include <string>

#include "option/words.h"

namespace memtape::answer {

/// Whose option it is: an engine's, by its name, of "transformers"' TrainingArguments, or "memtape"'s.
std::string_view source_of(const option::Option& option);

/// Every option of train, serve with its engines, and plan.
std::string options_json();

/// What `memtape COMMAND --help --json` prints: the command's operands and options.
std::string help_json(const option::Syntax& syntax);

}  // namespace memtape::answer
