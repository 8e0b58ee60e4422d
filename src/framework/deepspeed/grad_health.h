// SPDX-License-Identifier: Apache-2.0
// What DeepSpeed computes to find infinities in gradients and the norms of gradients
// (deepspeed/runtime/utils.py and get_grad_norm_direct of the ZeRO optimizers). These are a few
// numbers each, except for the float64 copies from which the norms are computed.
#pragma once

#include <vector>

#include "ghost/tensor.h"

namespace memtape::deepspeed {

using ghost::Tensor;

/// has_inf_or_nan, which gives a bool on the device.
Tensor has_inf_or_nan(const Tensor& x);

/// has_overflow: adds up the flags of all gradients as a byte.
void check_overflow(const std::vector<Tensor>& gradients);

/// is_invalid_grad_norm
void check_grad_norm(const Tensor& norm);

/// gradient.to(float64).norm(2)
Tensor grad_norm_of(const Tensor& gradient);

/// get_weight_norm and get_flattened_grad_norm: each norm is computed in float32, and they are
/// added up as numbers.
void weight_norm(const std::vector<Tensor>& tensors);
void flattened_grad_norm(const Tensor& gradient);

/// get_global_norm_of_tensors, and the clipping that clip_tensors_by_global_norm does.
Tensor global_norm_of_tensors(const std::vector<Tensor>& tensors);
void clip_by_global_norm(const Tensor& global_norm);

/// clip_grad_norm_
void clip_grad_norm(const std::vector<Tensor>& gradients);

/// CheckOverflow.check, which goes gradient by gradient and then makes a flag.
void check_each_overflow(const std::vector<Tensor>& gradients);

/// get_grad_norm_direct: the norm of the gradients, each of which is cast to float64.
Tensor grad_norm_direct(const std::vector<Tensor>& gradients);

/// combine_grad_norm_groups
Tensor combine_grad_norm_groups(const std::vector<Tensor>& norms);

/// The factor 1 / (clip * loss_scale) as a tensor, by which gradients are scaled in place
/// (unscale_and_clip_grads).
void clip_by(const Tensor& total_norm);
/// The same for a norm that is known to be valid.
void scale_by_clip(const Tensor& total_norm);

}  // namespace memtape::deepspeed
