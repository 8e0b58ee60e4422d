// SPDX-License-Identifier: Apache-2.0
// solve_serve: the largest value of an engine's flag with which the server still fits (or the
// smallest share of the GPU, or the fewest ranks). It first asks for exact answers at values far
// apart and then bisects between one that fits and the next that does not. If larger values fit
// again, the answer names the ranges. Very long answers are not played to their end, which is no
// limit of memory: then the answer tells the largest value that was played, and where a line
// through the answers crosses the device's total.
#pragma once

#include <string_view>

#include "predict/serve.h"

namespace memtape {

/// The answer for the value that was found, which it names. If nothing fits, it is the answer that
/// comes nearest, with the reason. It is an error if there is no device, if the engine has no such
/// flag or the flag takes no number, or if the server is impossible with every value.
Result<ServeAnswer> solve_serve(const ServeEngine& engine, const ServeRequest& request,
                                std::string_view flag);

}  // namespace memtape
