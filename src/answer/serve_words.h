// SPDX-License-Identifier: Apache-2.0
// The words of `memtape serve`: an engine has flags of its own, single dashes with several letters
// among them (-ngl), so the words are read against the engine's table.
#pragma once

#include "answer/options.h"
#include "base/result.h"
#include "workload/serve_options.h"

namespace memtape::answer {

struct ServeWords {
  ServeCommand command;
  std::string help;  ///< not empty when help was asked for
};

Result<ServeWords> read_serve_words(Arguments arguments);

/// The flags that are taken with that engine ("": the first): of all engines, of the answer, its
/// own.
std::vector<std::span<const ServeFlag>> serve_flags(std::string_view engine);

}  // namespace memtape::answer
