// SPDX-License-Identifier: Apache-2.0
#include "framework/torch_cp/ring_backward.h"

#include <utility>
#include <vector>

#include "framework/torch_cp/rotater.h"
#include "ghost/autograd/node.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/joins.h"
#include "ghost/session.h"

namespace memtape::torch_cp {
namespace {

using ghost::Tensor;

constexpr int kSequence = 2;

Tensor float_zeros_like(const Tensor& tensor) {
  const ghost::Op op("zeros_like", {});
  return ghost::empty_like(tensor, DType::float32);
}

/// One call of the kernel, on this step's part of the queries.
ghost::KernelGradients step_backward(const Ring& ring, std::int64_t i, const StepInputs& inputs,
                                     const Tensor& grad_out, const Attended& saved) {
  const bool whole = i <= ring.rank;
  return ghost::attention_backward(saved.kernel, whole ? grad_out : second_half(grad_out),
                                   inputs.query, inputs.key, inputs.value,
                                   whole ? saved.out : second_half(saved.out));
}

}  // namespace

Tensor first_half(const Tensor& tensor) { return tensor.chunk(2, kSequence)[0]; }
Tensor second_half(const Tensor& tensor) { return tensor.chunk(2, kSequence)[1]; }

Tensor with_first_half(const Tensor& tensor, const Tensor& half) {
  return ghost::cat(std::vector<Tensor>{half, second_half(tensor)}, kSequence);
}

Tensor with_second_half(const Tensor& tensor, const Tensor& half) {
  return ghost::cat(std::vector<Tensor>{first_half(tensor), half}, kSequence);
}

StepInputs step_inputs(const Ring& ring, std::int64_t i, const StepInputs& whole) {
  if (i == 0) return whole;
  if (i <= ring.rank) return {whole.query, first_half(whole.key), first_half(whole.value)};
  return {second_half(whole.query), whole.key, whole.value};
}

ghost::KernelGradients ring_backward(const Ring& ring, const Tensor& grad_out,
                                     const Attended& saved) {
  Tensor grad_query = float_zeros_like(saved.query), grad_key = float_zeros_like(saved.key),
         grad_value = float_zeros_like(saved.value);
  Tensor key = saved.key.contiguous(), value = saved.value.contiguous();
  Rotater kv_rotater(ring, ring.rotation), dkv_rotater(ring, Rotation::all_to_all);
  Tensor next_kv, next_grad_kv, lse;
  StepInputs inputs;
  ghost::KernelGradients grads;
  for (std::int64_t i = 0; i < ring.size; ++i) {
    if (i > 0) {
      const Tensor buffer = kv_rotater.next_buffer();
      key = part_of(buffer, key);
      value = part_of(buffer, value);
    }
    if (i != ring.size - 1) {
      next_kv = flat_pair(key, value);
      kv_rotater.exchange_buffers(next_kv);
    }
    StepInputs next = step_inputs(ring, i, {saved.query, key, value});
    Tensor own_lse = i > ring.rank ? second_half(saved.logsumexp).contiguous() : saved.logsumexp;
    inputs = std::move(next);
    lse = std::move(own_lse);
    ghost::KernelGradients step = step_backward(ring, i, inputs, grad_out, saved);
    grads = std::move(step);
    if (i > 0) {
      next_grad_kv = dkv_rotater.next_buffer();
      grad_key = part_of(next_grad_kv, grad_key);
      grad_value = part_of(next_grad_kv, grad_value);
      if (i <= ring.rank) {
        grad_key = with_first_half(grad_key, first_half(grad_key));
        grad_value = with_first_half(grad_value, first_half(grad_value));
      }
    }
    next_grad_kv = flat_pair(grad_key, grad_value);
    dkv_rotater.exchange_buffers(next_grad_kv);
    if (i > ring.rank) grad_query = with_second_half(grad_query, second_half(grad_query));
  }
  grad_query = grad_query.to(saved.query.dtype());
  next_grad_kv = dkv_rotater.next_buffer().to(saved.key.dtype());
  return {grad_query, part_of(next_grad_kv, grad_key), part_of(next_grad_kv, grad_value)};
}

}  // namespace memtape::torch_cp
