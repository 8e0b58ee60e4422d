// SPDX-License-Identifier: Apache-2.0
// Selective activation checkpointing of ops (_apply_ac_to_transformer_block with
// selective_ac_option="op"): of each block the outputs of attention, of reduce-scatters and of
// every other matrix product are kept, the first included; all else is computed again. deepseek_v3
// and llama4 keep what came from other ranks, too.
#pragma once

#include "ghost/autograd/selective_checkpoint.h"

namespace memtape::torchtitan {

/// A fresh _custom_policy, whose count of products begins at zero.
ghost::KeepPolicy save_ops();
ghost::KeepPolicy save_ops_and_all_to_all();

/// Full checkpointing: nothing is kept.
ghost::KeepPolicy save_nothing();

}  // namespace memtape::torchtitan
