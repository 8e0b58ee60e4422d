// SPDX-License-Identifier: Apache-2.0
// How many layers each pipeline rank and virtual stage holds (get_num_layers_to_build of
// megatron/core/transformer/transformer_block.py): an even split, a split in which the first and
// the last stage have their own sizes, one that counts embedding and loss as layers, or a layout in
// letters.
#pragma once

#include "framework/megatron/arguments.h"

namespace memtape::megatron {

struct StageSplit {
  /// The layers of the first and of the last pipeline rank.
  std::optional<std::int64_t> first, last;
  bool embedding_counts = false, loss_counts = false;
  std::string layout;  ///< --pipeline-model-parallel-layout
};

/// Sets arguments.stage_layers from num_layers, pp and vpp.
Result<void> split_layers(const StageSplit& split, Arguments& arguments);

}  // namespace memtape::megatron
