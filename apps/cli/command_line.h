// SPDX-License-Identifier: Apache-2.0
// A whole command line, run: its command is found, its words are read, and its answer is printed.
#pragma once

#include "option/words.h"
#include "terminal.h"

namespace memtape::cli {

/// The exit code. `arguments` are the words after the program's name.
int run_command_line(option::Arguments arguments, Terminal& terminal);

}  // namespace memtape::cli
