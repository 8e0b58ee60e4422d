// SPDX-License-Identifier: Apache-2.0
// Selective activation checkpointing by ops (_apply_ac_to_transformer_block with
// selective_ac_option="op"). In each block it keeps the outputs of attention, of reduce-scatters
// and of every second matrix product, beginning with the first; everything else is computed again.
// deepseek_v3 and llama4 also keep what came from other ranks.
#pragma once

#include "ghost/autograd/selective_checkpoint.h"

namespace memtape::torchtitan {

/// A new _custom_policy, which begins to count products at zero.
ghost::KeepPolicy save_ops();
ghost::KeepPolicy save_ops_and_all_to_all();

/// Full checkpointing, which keeps nothing.
ghost::KeepPolicy save_nothing();

}  // namespace memtape::torchtitan
