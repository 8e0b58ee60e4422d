// SPDX-License-Identifier: Apache-2.0
// Pointwise ops that have gradients and are not methods of Tensor: functions of one tensor,
// activations, clamps, where and masks. What each keeps for backward follows
// tools/autograd/derivatives.yaml.
#pragma once

#include <optional>

#include "ghost/tensor.h"

namespace memtape::ghost {

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

/// The numbers between which a tensor is clamped: clamp(x, {.min = 0.0}) is x.clamp(min=0).
struct ClampBounds {
  std::optional<double> min = {}, max = {};
};
/// self.clamp(min, max) between numbers. Autograd keeps self.
Tensor clamp(const In& self, const ClampBounds& bounds);
/// self.clamp_(min, max) between two numbers. Autograd keeps a copy of what self was before.
void clamp_(Tensor& self, double min, double max);
/// self.clamp(min, max) between two tensors that require no gradients. An undefined tensor stands
/// for no bound.
Tensor clamp(const In& self, const Tensor& min, const Tensor& max);
/// torch.clamp_min(self, number), without gradients.
Tensor clamp_min(const In& self, double min);

/// number ** tensor, where the tensor has floating point numbers. The number becomes a tensor on
/// the device.
Tensor pow(double number, const In& exponents);
/// tensor ** tensor, without gradients.
Tensor pow(const In& self, const In& exponents);

/// These are number - tensor and number / tensor.
Tensor rsub(double number, const In& self);
Tensor rdiv(double number, const In& self);

/// torch.where(mask, a, b), without gradients or with gradients of `a` and `b`.
Tensor where(const In& mask, const In& a, const In& b);
/// self.masked_fill(mask, number).
Tensor masked_fill(const In& self, const In& mask, double number);
/// self.masked_fill_(mask, number), self += other, self *= other and self /= other. They take no
/// memory except for what backward needs of the old `self`.
void masked_fill_(const Tensor& self, const In& mask, double number);
void add_(const Tensor& self, const In& other);
void mul_(const Tensor& self, const In& other);
void mul_(const Tensor& self, double number);
void div_(const Tensor& self, const In& other);
void div_(const Tensor& self, double number);
}  // namespace memtape::ghost
