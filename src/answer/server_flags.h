// SPDX-License-Identifier: Apache-2.0
// The flags of a server's own command that its release does not have.
#pragma once

#include "answer/options.h"
#include "serving/serve_engine.h"

namespace memtape::answer {

/// An Error if the server's own parser is known to stop at a flag: `request` says which release.
Result<void> check_flag_releases(const ServeCommand& command, const ServeRequest& request);

}  // namespace memtape::answer
