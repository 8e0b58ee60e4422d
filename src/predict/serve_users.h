// SPDX-License-Identifier: Apache-2.0
// serve_users: how many people a server holds at a time, each with a prompt and an answer of given
// lengths. An engine with a pool of cache pages is asked once, for requests of that length. The
// other engines reserve memory for every sequence; there the number is found by bisection on exact
// answers.
#pragma once

#include "predict/serve.h"

namespace memtape {

/// Answers --users N, --context L and --output M of the request. Without --users it tells how many
/// users there can be. Empty if none of the three is given.
Result<std::optional<ServeAnswer>> serve_users(const ServeEngine& engine,
                                               const ServeRequest& request);

}  // namespace memtape
