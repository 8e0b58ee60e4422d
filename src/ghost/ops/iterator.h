// SPDX-License-Identifier: Apache-2.0
// The layout rules of pointwise ops: torch's TensorIterator (aten/src/ATen/TensorIterator.cpp) and
// its type promotion.
#pragma once

#include <initializer_list>
#include <span>

#include "base/dtype.h"
#include "ghost/dims.h"
#include "ghost/tensor.h"

namespace memtape::ghost {

/// The sizes after `a` and `b` have been broadcast against each other.
Dims broadcast(const Dims& a, const Dims& b);

/// torch.result_type of two tensors: a tensor with dimensions outweighs one without, unless its
/// kind of number is lower.
DType promote(const Tensor& a, const Tensor& b);

/// torch.result_type of a tensor and a Python number: a float number turns integers into float32,
/// and nothing else changes.
DType promote_with_number(const Tensor& a, bool number_is_float);

/// The strides of a pointwise op's output over these operands. The output keeps the operands' order
/// of dimensions.
Dims output_strides(std::span<const Tensor* const> operands, const Dims& sizes);

/// Makes a new tensor as the output of a pointwise op.
Tensor pointwise_output(std::initializer_list<const Tensor*> operands, DType dtype);

}  // namespace memtape::ghost
