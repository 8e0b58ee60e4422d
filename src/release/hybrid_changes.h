// SPDX-License-Identifier: Apache-2.0
// What changed between releases of transformers in models that mix attention with recurrent layers,
// as far as it affects memory.
#pragma once

#include "release/release.h"

namespace memtape::changes {

inline constexpr Change kBambaMasksAreShared{
    Package::transformers,
    {5, 2, 0},
    "masking_utils.py makes Bamba's and Falcon-H1's masks; before, each had its own "
    "_update_causal_mask, as in 5.1.0.",
    "models/bamba/modeling_bamba.py:BambaModel.forward"};

inline constexpr Change kGraniteHybridMasksAreShared{
    Package::transformers,
    {5, 0, 0},
    "masking_utils.py makes GraniteMoeHybrid's masks; before, it had an _update_causal_mask of its "
    "own.",
    "models/granitemoehybrid/modeling_granitemoehybrid.py:GraniteMoeHybridModel.forward"};

}  // namespace memtape::changes
