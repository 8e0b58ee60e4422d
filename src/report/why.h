// SPDX-License-Identifier: Apache-2.0
// Why a block exists, as one sentence for people: which op made it, what keeps it, and until when.
// The facts are the tape's (Why); nothing is guessed beyond them.
//     "output of silu, kept for MulBackward0 until backward reaches model.layers.*.mlp"
#pragma once

#include <string>
#include <string_view>

#include "tape/tape.h"

namespace memtape::report {

/// Without a full stop. `module` is the path to name: exact, folded ("model.layers.*.mlp") or a
/// placeholder.
std::string why_sentence(const Why& why, std::string_view module);

/// "[1, 2048, 14336] bfloat16"
std::string shape_and_dtype(const DisplayShape& shape, DType dtype);

}  // namespace memtape::report
