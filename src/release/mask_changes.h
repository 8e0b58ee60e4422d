// SPDX-License-Identifier: Apache-2.0
// What changed in how transformers makes masks, which all models share.
#pragma once

#include "release/release.h"

namespace memtape::changes {

inline constexpr Change kMasksSumTheirTruths{
    Package::transformers,
    {5, 14, 0},
    "Whether a given mask hides nothing is told by a sum of its truths, and one that is not square "
    "may be left out, too; before, by all(), of square ones alone. It still is in 5.13.1.",
    "masking_utils.py:fast_all, _ignore_causal_mask_sdpa"};

}  // namespace memtape::changes
