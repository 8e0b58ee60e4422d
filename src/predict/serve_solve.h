// SPDX-License-Identifier: Apache-2.0
// solve_serve: the largest value of an engine's flag with which the server still fits (the smallest
// share of the GPU, for --gpu-memory-utilization), found by bisection on exact answers. What fits
// with a value is taken to fit with every smaller one; the value found and the next are both run.
#pragma once

#include <string_view>

#include "predict/serve.h"

namespace memtape {

/// The answer for the value found, which it names. Errors: no device, a flag the engine does not
/// have or that takes no number, nothing that fits.
Result<ServeAnswer> solve_serve(const ServeEngine& engine, const ServeRequest& request,
                                std::string_view flag);

}  // namespace memtape
