// SPDX-License-Identifier: Apache-2.0
// The backward of ring attention (_templated_ring_attention_backward). Keys and values go around
// once more, and so do their gradients in float32, to which each GPU adds its part.
#pragma once

#include "framework/torch_cp/ring_attention.h"
#include "ghost/ops/attention.h"

namespace memtape::torch_cp {

/// What attention has kept.
struct Attended {
  ghost::Tensor query, key, value, out, logsumexp;
  ghost::AttentionKernel kernel = ghost::AttentionKernel::flash;
};

/// The part of the inputs that step `i` attends to.
struct StepInputs {
  ghost::Tensor query, key, value;
};
StepInputs step_inputs(const Ring& ring, std::int64_t i, const StepInputs& whole);

/// The halves of a tensor along the sequence.
ghost::Tensor first_half(const ghost::Tensor& tensor);
ghost::Tensor second_half(const ghost::Tensor& tensor);
/// _partial_update: a new tensor in which one half is replaced, or added to.
ghost::Tensor with_first_half(const ghost::Tensor& tensor, const ghost::Tensor& half);
ghost::Tensor with_second_half(const ghost::Tensor& tensor, const ghost::Tensor& half);

ghost::KernelGradients ring_backward(const Ring& ring, const ghost::Tensor& grad_out,
                                     const Attended& saved);

}  // namespace memtape::torch_cp
