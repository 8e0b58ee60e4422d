// SPDX-License-Identifier: Apache-2.0
// Views: new sizes and strides over the same storage. They take no memory, keep their base tensor
// alive, and have nodes whose backward may copy: a gradient that cannot be viewed back is made
// contiguous first.
#pragma once

#include <optional>

#include "ghost/tensor.h"

namespace memtape::ghost {

/// Strides that show a tensor of `sizes`, `strides` as `wanted` without a copy
/// (at::detail::computeStride), if there are any.
std::optional<Dims> strides_as_view(const Dims& sizes, const Dims& strides, const Dims& wanted);

/// `wanted` with its -1 replaced by what is left of `count`.
Dims infer_size(const Dims& wanted, std::int64_t count);

/// Another tensor over the same storage, without history; keeps the base alive as a differentiable
/// view does.
Tensor alias(const Tensor& tensor, const Dims& sizes, const Dims& strides);

/// The nodes of `colons` colons in x[:, ...], where they make some: each is a slice of everything.
Tensor indexed_by_colons(const Tensor& x, int colons);

/// x[..., start::step] along `d`.
Tensor strided_slice(const In& self, int d, std::int64_t start, std::int64_t step);

/// torch.ops.aten._unsafe_view: as view, but not tracked as one (the base may die).
Tensor unsafe_view(const In& self, const Dims& sizes);

}  // namespace memtape::ghost
