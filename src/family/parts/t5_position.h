// SPDX-License-Identifier: Apache-2.0
// Relative positions sorted into buckets, T5Attention._relative_position_bucket of
// transformers 5.17 (models/t5/modeling_t5.py): exact for small distances, by their logarithm for
// large ones.
#pragma once

#include "family/pretrained.h"

namespace memtape::family {

/// int64 like `relative_position`; `bidirectional` tells positions ahead from those behind. UMT5
/// gives the logarithms a name (`keeps_log_ratio`): they live until the buckets are there.
Tensor t5_relative_position_bucket(const Tensor& relative_position, bool bidirectional,
                                   bool keeps_log_ratio);

/// torch.where(mask, tensor, number): the number becomes a tensor of its own for the while.
Tensor where_or_number(const Tensor& mask, const Tensor& tensor);

}  // namespace memtape::family
