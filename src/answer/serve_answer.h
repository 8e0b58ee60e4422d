// SPDX-License-Identifier: Apache-2.0
// `memtape serve MODEL`: the answer for one server, or a line for each of several GPUs (--compare).
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "answer/options.h"
#include "answer/outside.h"
#include "predict/serve_compare.h"

namespace memtape::answer {

struct OneServer {
  ServeAnswer serve;
  /// The arithmetic of a token's keys and values, if it is asked for.
  std::vector<std::string> by_hand;
};

using Serving = std::variant<OneServer, Comparison>;

Result<Serving> answer_serving(const ServeCommand& command, const Outside& outside);

std::string json(const Serving& serving);

/// The exit code for a server, which is 0 or 1.
int exit_code(const Serving& serving, bool strict);

}  // namespace memtape::answer
