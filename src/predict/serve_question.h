// SPDX-License-Identifier: Apache-2.0
// What a request asks of a server, whichever way: as it is, for so many users, or for the value of
// a flag. Everything that answers servers asks here, so that none of it is dropped.
#pragma once

#include "predict/serve.h"

namespace memtape {

/// With --users, --context and --output where they are given.
Result<ServeAnswer> answer_server(const ServeEngine& engine, const ServeRequest& request);

/// And with --solve.
Result<ServeAnswer> answer_question(const ServeEngine& engine, const ServeRequest& request);

}  // namespace memtape
