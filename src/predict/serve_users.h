// SPDX-License-Identifier: Apache-2.0
// serve_users: how many people a server holds at a time, each with a prompt of so many tokens and
// an answer of so many. Engines with a pool of cache pages are asked once, for requests of that
// length; the others, which reserve for every sequence, by bisection on exact answers.
#pragma once

#include "predict/serve.h"

namespace memtape {

/// Answers --users N, --context L and --output M of the request; without --users, how many there
/// can be. Nothing when none of the three is given.
Result<std::optional<ServeAnswer>> serve_users(const ServeEngine& engine,
                                               const ServeRequest& request);

}  // namespace memtape
