// SPDX-License-Identifier: Apache-2.0
// Flat tensors: tensors joined to one, pieces of it, and the `.data` of a tensor put elsewhere
// (torch/_utils.py, _flatten_dense_tensors; Tensor.data).
#pragma once

#include <cstdint>
#include <vector>

#include "framework/deepspeed/flat_layout.h"
#include "ghost/tensor.h"

namespace memtape::deepspeed {

using ghost::Tensor;

/// All of them in one dimension: a copy, but of a single tensor a view.
Tensor flatten(const std::vector<Tensor>& tensors);

/// tensor.view(-1).narrow(0, start, elements), without history.
Tensor narrow(const Tensor& tensor, std::int64_t start, std::int64_t elements);

/// The buffer that parameters lie in, as `layout` pads them: they become pieces of it.
Tensor flatten_parameters(const std::vector<Tensor>& parameters, const FlatLayout& layout);

/// tensor.data = view_of_elements.view_as(tensor): its own memory goes.
void put_data(const Tensor& tensor, const Tensor& elements);

}  // namespace memtape::deepspeed
