// SPDX-License-Identifier: Apache-2.0
// What DeepSpeed computes to find infinities and norms of gradients (deepspeed/runtime/utils.py and
// get_grad_norm_direct of the ZeRO optimizers): a few numbers each, but for the copies in float64
// that the norms are taken of.
#pragma once

#include <vector>

#include "ghost/tensor.h"

namespace memtape::deepspeed {

using ghost::Tensor;

/// has_inf_or_nan: a bool on the device.
Tensor has_inf_or_nan(const Tensor& x);

/// The flags of all gradients added up, as a byte: has_overflow.
void check_overflow(const std::vector<Tensor>& gradients);

/// is_invalid_grad_norm
void check_grad_norm(const Tensor& norm);

/// gradient.to(float64).norm(2)
Tensor grad_norm_of(const Tensor& gradient);

/// get_weight_norm and get_flattened_grad_norm: each in float32, added up as numbers.
void weight_norm(const std::vector<Tensor>& tensors);
void flattened_grad_norm(const Tensor& gradient);

/// get_global_norm_of_tensors, and the clipping of clip_tensors_by_global_norm.
Tensor global_norm_of_tensors(const std::vector<Tensor>& tensors);
void clip_by_global_norm(const Tensor& global_norm);

/// clip_grad_norm_
void clip_grad_norm(const std::vector<Tensor>& gradients);

/// CheckOverflow.check: gradient by gradient, then a flag.
void check_each_overflow(const std::vector<Tensor>& gradients);

/// get_grad_norm_direct: the norm of the gradients, each cast to float64.
Tensor grad_norm_direct(const std::vector<Tensor>& gradients);

/// combine_grad_norm_groups
Tensor combine_grad_norm_groups(const std::vector<Tensor>& norms);

/// How a gradient is scaled in place: 1 / (clip * loss_scale), as a tensor
/// (unscale_and_clip_grads).
void clip_by(const Tensor& total_norm);
/// The same of a norm that is known to be valid.
void scale_by_clip(const Tensor& total_norm);

}  // namespace memtape::deepspeed
