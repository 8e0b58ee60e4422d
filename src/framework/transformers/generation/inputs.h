// SPDX-License-Identifier: Apache-2.0
// GenerationInputs: what generate() keeps for the model from pass to pass (model_kwargs), and what
// prepare_inputs_for_generation hands over of it.
#pragma once

#include "ghost/tensor.h"

namespace memtape::transformers {

struct GenerationInputs {
  /// Positions are undefined if the model takes none.
  ghost::Tensor input_ids, attention_mask, position_ids;
  ghost::Tensor full_mask, sliding_mask;  ///< made before the pass if the cache has a fixed size

  /// Lengthens mask and positions by that many tokens.
  void append(std::int64_t tokens);
};

/// torch.ones(sizes, dtype=torch.long), which generate() itself makes.
ghost::Tensor int64s(const ghost::Dims& sizes);

}  // namespace memtape::transformers
