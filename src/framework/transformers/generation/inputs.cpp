// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/generation/inputs.h"

#include "ghost/ops/creation.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/pointwise.h"

namespace memtape::transformers {

using ghost::Tensor;

Tensor int64s(const ghost::Dims& sizes) {
  return ghost::ones(sizes, DType::int64, Category::input);
}

void GenerationInputs::append(std::int64_t tokens) {
  if (position_ids.defined()) {
    const std::int64_t length = position_ids.size(1);
    const Tensor next = ghost::arange(tokens, DType::int64)
                            .view({1, -1})
                            .add(position_ids.slice(1, length - 1, length))
                            .add(1);
    position_ids = ghost::cat({position_ids, next}, -1);
  }
  attention_mask = ghost::cat({attention_mask, int64s({attention_mask.size(0), tokens})}, -1);
}

}  // namespace memtape::transformers
