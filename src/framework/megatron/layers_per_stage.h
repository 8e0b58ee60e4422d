// SPDX-License-Identifier: Apache-2.0
// How many layers each pipeline rank and virtual stage holds (get_num_layers_to_build of
// megatron/core/transformer/transformer_block.py): an even split, a split with its own first and
// last stage, one that counts embedding and loss as layers, or a layout in letters.
#pragma once

#include "framework/megatron/arguments.h"

namespace memtape::megatron {

struct StageSplit {
  std::optional<std::int64_t> first, last;  ///< layers of the first and the last pipeline rank
  bool embedding_counts = false, loss_counts = false;
  std::string layout;  ///< --pipeline-model-parallel-layout
};

/// Sets arguments.stage_layers from num_layers, pp and vpp.
Result<void> split_layers(const StageSplit& split, Arguments& arguments);

}  // namespace memtape::megatron
