// SPDX-License-Identifier: Apache-2.0
// embedding: rows of a table picked by indices. Backward makes the table's dense gradient, with the
// scratch that aten/src/ATen/native/cuda/Embedding.cu takes to sort the indices.
#pragma once

#include "ghost/tensor.h"

namespace memtape::ghost {

Tensor embedding(const Tensor& weight, const In& indices);

}  // namespace memtape::ghost
