// SPDX-License-Identifier: Apache-2.0
// The flags of a server's own command, and the releases that have them.
#pragma once

#include "answer/options.h"
#include "serving/serve_engine.h"

namespace memtape::answer {

/// Where nobody names a release and the newest stops at a flag, the newest that has all flags is
/// meant: the command's values then name it, and a warning says so.
void take_release_of_flags(ServeCommand& command);

/// An Error if the server's own parser is known to stop at a flag: `request` says which release.
Result<void> check_flag_releases(const ServeCommand& command, const ServeRequest& request);

}  // namespace memtape::answer
