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

/// So many layers on so many stages, embedding and loss among them, in letters. What is lacking for
/// stages of the same size is lacking on the last one, as in the layouts of Megatron-Bridge's
/// recipes for DeepSeek-V3, Kimi K2 and Moonlight; two lacking layers stand for embedding and loss.
/// It is "" where the ends would hold fewer than none, or where more layers lack than half of the
/// stages have, so that nearly all of them wait for each other.
std::string layout_of_ends(std::int64_t layers, std::int64_t stages);

/// Sets arguments.stage_layers from num_layers, pp and vpp.
Result<void> split_layers(const StageSplit& split, Arguments& arguments);

}  // namespace memtape::megatron
