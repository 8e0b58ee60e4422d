// SPDX-License-Identifier: Apache-2.0
// Runs a whole command line: it finds the command, reads its words and prints its answer.
#pragma once

#include "option/words.h"
#include "terminal.h"

namespace memtape::cli {

/// Returns the exit code. `arguments` are the words after the program's name.
int run_command_line(option::Arguments arguments, Terminal& terminal);

}  // namespace memtape::cli
