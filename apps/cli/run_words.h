// SPDX-License-Identifier: Apache-2.0
// A whole command line, run: read, answered, printed.
#pragma once

#include "options.h"
#include "terminal.h"

namespace memtape::cli {

/// The exit code. `arguments` are the words after the program's name.
int run_words(Arguments arguments, Terminal& terminal);

}  // namespace memtape::cli
