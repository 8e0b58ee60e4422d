// SPDX-License-Identifier: Apache-2.0
// What changed between releases of transformers, as far as memory shows it.
#pragma once

#include "release/release.h"

namespace memtape::changes {

inline constexpr Change kLossShiftsLabels{
    Package::transformers,
    {4, 49, 0},
    "ForCausalLMLoss pads and shifts the labels; before, it copied the float32 logits without the "
    "last position.",
    "loss/loss_utils.py:ForCausalLMLoss"};

inline constexpr Change kExpertsAreStacked{
    Package::transformers,
    {5, 0, 0},
    "A mixture's experts are stacked into tensors of three dimensions; before, they were a "
    "ModuleList of Linear layers that ran one after the other.",
    "models/mixtral/modeling_mixtral.py:MixtralExperts"};

}  // namespace memtape::changes
