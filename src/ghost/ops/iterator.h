// SPDX-License-Identifier: Apache-2.0
// The layout rules of pointwise ops: torch's TensorIterator (aten/src/ATen/TensorIterator.cpp) and
// type promotion.
#pragma once

#include <initializer_list>
#include <span>

#include "base/dtype.h"
#include "ghost/dims.h"
#include "ghost/tensor.h"

namespace memtape::ghost {

/// Sizes after broadcasting `a` against `b`.
Dims broadcast(const Dims& a, const Dims& b);

/// torch.result_type of two tensors: a tensor with dimensions outweighs one without, unless its
/// kind is lower.
DType promote(const Tensor& a, const Tensor& b);

/// result_type of a tensor and a Python number (a float makes integers float32, nothing else
/// changes).
DType promote_with_number(const Tensor& a, bool number_is_float);

/// Strides of the output of a pointwise op over these operands: the operands' own order of
/// dimensions is kept.
Dims output_strides(std::span<const Tensor* const> operands, const Dims& sizes);

/// A new tensor as the output of a pointwise op.
Tensor pointwise_output(std::initializer_list<const Tensor*> operands, DType dtype);

}  // namespace memtape::ghost
