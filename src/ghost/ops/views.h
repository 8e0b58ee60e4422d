// SPDX-License-Identifier: Apache-2.0
// Views: new sizes and strides over the same storage. They take no memory and keep their base
// tensor alive. The backward of their nodes may copy: a gradient that cannot be viewed in the old
// shape is made contiguous first.
#pragma once

#include <optional>

#include "ghost/tensor.h"

namespace memtape::ghost {

/// The strides with which a tensor of `sizes` and `strides` can be seen as `wanted` without a copy
/// (at::detail::computeStride), if there are any.
std::optional<Dims> strides_as_view(const Dims& sizes, const Dims& strides, const Dims& wanted);

/// `wanted` with its -1 replaced, so that the sizes multiply to `count`.
Dims infer_size(const Dims& wanted, std::int64_t count);

/// Another tensor over the same storage, without history. It keeps the base alive, as a
/// differentiable view does.
Tensor alias(const Tensor& tensor, const Dims& sizes, const Dims& strides);

/// x[:, ...] with `colons` colons. In older releases of torch each colon makes a node, a slice of
/// everything; in newer ones none does.
Tensor indexed_by_colons(const Tensor& x, int colons);

/// x[..., start::step] along `d`.
Tensor strided_slice(const In& self, int d, std::int64_t start, std::int64_t step);

/// torch.ops.aten._unsafe_view: like view, but autograd does not track it as one, so the base may
/// be freed.
Tensor unsafe_view(const In& self, const Dims& sizes);

}  // namespace memtape::ghost
