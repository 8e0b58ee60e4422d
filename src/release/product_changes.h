// SPDX-License-Identifier: Apache-2.0
// What changed between releases of torch in products of tensors, as far as it affects memory.
#pragma once

#include "release/release.h"

namespace memtape::changes {

inline constexpr Change kEinsumSwapsOperands{Package::torch,
                                             {2, 12, 0},
                                             "einsum multiplies its right operand by its left one "
                                             "where that gives the result's own order in "
                                             "memory; before, always the left by the right.",
                                             "aten/src/ATen/native/Linear.cpp:sumproduct_pair"};

}  // namespace memtape::changes
