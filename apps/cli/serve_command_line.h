// SPDX-License-Identifier: Apache-2.0
// The words of `memtape serve`: an engine has flags of its own, single dashes with several letters
// among them (-ngl), so the words are read against the engine's table.
#pragma once

#include "base/result.h"
#include "command_line.h"

namespace memtape::cli {

struct ServeWords {
  ServeCommand command;
  std::string help;  ///< not empty when help was asked for
};

Result<ServeWords> read_serve_words(Arguments arguments);

}  // namespace memtape::cli
