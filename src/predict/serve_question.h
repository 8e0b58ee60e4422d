// SPDX-License-Identifier: Apache-2.0
// What a request asks of a server: the server as it is, how it holds so many users, or the best
// value of a flag. Every command that answers for a server asks here, so no part of the request is
// dropped.
#pragma once

#include "predict/serve.h"

namespace memtape {

/// Answers the request, with --users, --context and --output if they are given.
Result<ServeAnswer> answer_server(const ServeEngine& engine, const ServeRequest& request);

/// Answers the request, with --solve as well.
Result<ServeAnswer> answer_question(const ServeEngine& engine, const ServeRequest& request);

}  // namespace memtape
