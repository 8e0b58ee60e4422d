// SPDX-License-Identifier: Apache-2.0
// solve_serve: the largest value of an engine's flag with which the server still fits (the smallest
// share of the GPU, the fewest ranks), found on exact answers: values far apart first, then, where
// one fits and the next does not, what lies between them by bisection. Where fitting comes and goes
// the answer names the ranges. What memtape does not play to its end (very long answers) is no
// limit of memory: then the largest value that was played is told, and where a line through the
// answers crosses the device's total.
#pragma once

#include <string_view>

#include "predict/serve.h"

namespace memtape {

/// The answer for the value found, which it names; where nothing fits, the answer that comes
/// nearest, with the reason. Errors: no device, a flag the engine does not have or that takes no
/// number, a server that cannot be with any value.
Result<ServeAnswer> solve_serve(const ServeEngine& engine, const ServeRequest& request,
                                std::string_view flag);

}  // namespace memtape
