// SPDX-License-Identifier: Apache-2.0
// What changed between releases of Transformer Engine: which attention runs.
#pragma once

#include "release/release.h"

namespace memtape::changes {

inline constexpr Change kFlashAttentionCanBeDeterministic{
    Package::transformer_engine,
    {1, 3, 0},
    "Deterministic attention (NVTE_ALLOW_NONDETERMINISTIC_ALGO=0) runs flash-attn 2; before, only "
    "version 1 of flash-attn, which images no longer have, so that below Hopper it is unfused.",
    "transformer_engine/pytorch/attention.py:DotProductAttention.__init__, pull request 585"};

}  // namespace memtape::changes
