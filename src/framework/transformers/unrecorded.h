// SPDX-License-Identifier: Apache-2.0
// Combinations whose parts are all modelled, and of which no run was recorded, and images, which are
// left out.
#pragma once

namespace memtape {
struct TrainRecipe;
}

namespace memtape::transformers {

/// What they do counts as not modelled: the bounds are wide.
void note_unrecorded(TrainRecipe& recipe);

}  // namespace memtape::transformers
