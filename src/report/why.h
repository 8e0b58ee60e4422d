// SPDX-License-Identifier: Apache-2.0
// Why a block exists, as one sentence: which op made it, what keeps it alive, and until when. The
// facts come from the tape (Why), and nothing is guessed beyond them.
//     "output of silu, kept for MulBackward0 until backward reaches model.layers.*.mlp"
#pragma once

#include <string>
#include <string_view>

#include "tape/tape.h"

namespace memtape::report {

/// The sentence has no full stop. `module` is the path that it names: an exact one, a folded one
/// ("model.layers.*.mlp") or a placeholder.
std::string why_sentence(const Why& why, std::string_view module);

/// "[1, 2048, 14336] bfloat16"
std::string shape_and_dtype(const DisplayShape& shape, DType dtype);

}  // namespace memtape::report
