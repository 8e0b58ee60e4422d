// SPDX-License-Identifier: Apache-2.0
// The tables that the fused copies around a gather and a reduction hand to their kernels:
// addresses, sizes, and the parameter that each block works on, as one int64 tensor on the device
// (aten/src/ATen/native/cuda/TensorShape.cu, pack_vecs). They are freed when the copy has been
// launched.
#pragma once

#include <span>

#include "ghost/tensor.h"

namespace memtape::fsdp2 {

/// For split_with_sizes_copy: `pieces` are the bytes of one shard of each parameter.
ghost::Tensor split_copy_table(std::span<const Bytes> pieces, std::int64_t shards);

/// For _chunk_cat: `pieces` are the bytes of one padded piece of each gradient, in the dtype in
/// which they are reduced.
ghost::Tensor chunk_cat_table(std::span<const Bytes> pieces);

}  // namespace memtape::fsdp2
