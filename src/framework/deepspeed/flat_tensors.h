// SPDX-License-Identifier: Apache-2.0
// Flat tensors: ops that join tensors into one, take pieces of it, and point a tensor's `.data` at
// other memory (torch/_utils.py, _flatten_dense_tensors; Tensor.data).
#pragma once

#include <cstdint>
#include <vector>

#include "framework/deepspeed/flat_layout.h"
#include "ghost/tensor.h"

namespace memtape::deepspeed {

using ghost::Tensor;

/// All tensors in one dimension. It is a copy, except that a single tensor gives a view.
Tensor flatten(const std::vector<Tensor>& tensors);

/// tensor.view(-1).narrow(0, start, elements), without history.
Tensor narrow(const Tensor& tensor, std::int64_t start, std::int64_t elements);

/// The buffer in which the parameters lie, with the padding of `layout`. The parameters become
/// pieces of it.
Tensor flatten_parameters(const std::vector<Tensor>& parameters, const FlatLayout& layout);

/// The same by way of the host: the parameters wait there until the buffer, which is joined there,
/// is on the device.
Tensor flatten_by_host(const std::vector<Tensor>& parameters, const FlatLayout& layout);

/// tensor.data = view_of_elements.view_as(tensor). The tensor's own memory is freed.
void put_data(const Tensor& tensor, const Tensor& elements);

}  // namespace memtape::deepspeed
