// SPDX-License-Identifier: Apache-2.0
// Pointwise ops that are not methods of Tensor: unary functions, activations, comparisons, where
// and masks. What each keeps for backward follows tools/autograd/derivatives.yaml.
#pragma once

#include "ghost/tensor.h"

namespace memtape::ghost {

/// A unary op under no_grad or on tensors without gradients: one new tensor like its input.
Tensor plain_unary(const char* name, const In& self);
/// A comparison with a number or tensor of the same sizes: a bool tensor.
Tensor comparison(const char* name, const In& self);

Tensor cos(const In& self);
Tensor sin(const In& self);
Tensor exp(const In& self);
Tensor rsqrt(const In& self);
Tensor sqrt(const In& self);
Tensor reciprocal(const In& self);
Tensor tanh(const In& self);
Tensor sigmoid(const In& self);
Tensor silu(const In& self);
Tensor log_sigmoid(const In& self);
Tensor gelu(const In& self);
Tensor relu(const In& self);
Tensor erf(const In& self);
Tensor softplus(const In& self);

/// self.clamp_(min, max): autograd keeps a copy of what it was.
void clamp_in_place(Tensor& self);

/// self.clamp(min, max) between two tensors that want no gradients.
Tensor clamp(const In& self, const Tensor& min, const Tensor& max);
/// isinf: abs() == inf.
Tensor isinf(const In& self);

/// self.clamp(min, max) between numbers: autograd keeps self.
Tensor clamp(const In& self);
/// self.clamp(min=number) or self.clamp(max=number).
enum class Bound { min, max };
Tensor clamp_one_sided(const In& self, Bound bound);
/// number ** tensor of floating point: the number becomes a tensor on the device.
Tensor power_of_number(const In& exponents);

/// number - tensor and number / tensor.
Tensor rsub(double number, const In& self);
Tensor rdiv(double number, const In& self);

/// torch.where(mask, a, b) without gradients, or with them for `a` and `b`.
Tensor where(const In& mask, const In& a, const In& b);
/// self.masked_fill(mask, number).
Tensor masked_fill(const In& self, const In& mask);
/// self.masked_fill_(mask, number), self += other, self *= other, self /= other: no memory but what
/// backward needs of `self` as it was.
void masked_fill_(const Tensor& self, const In& mask);
void add_(const Tensor& self, const In& other);
void mul_(const Tensor& self, const In& other);
void mul_(const Tensor& self, double number);
void div_(const Tensor& self, const In& other);
void div_(const Tensor& self, double number);
/// a & b, a | b of bool tensors.
Tensor logical(const char* name, const In& a, const In& b);

}  // namespace memtape::ghost
