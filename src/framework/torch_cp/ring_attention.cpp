// SPDX-License-Identifier: Apache-2.0
#include "framework/torch_cp/ring_attention.h"

#include <vector>

#include "framework/torch_cp/ring_backward.h"
#include "framework/torch_cp/rotater.h"
#include "ghost/autograd/function.h"
#include "ghost/autograd/node.h"
#include "ghost/autograd/selective_checkpoint.h"
#include "ghost/ops/pointwise.h"

namespace memtape::torch_cp {
namespace {

using ghost::Tensor;

/// _SDPAMerger.
class Merger {
 public:
  void step(const Tensor& block_out, const Tensor& block_lse, bool partial) {
    dtype_ = block_out.dtype();
    const Tensor out = block_out.to_float();
    merge_one(out, block_lse.unsqueeze(-1), partial);
  }

  Tensor result() const { return out_.to(dtype_); }
  Tensor logsumexp() const { return lse_.squeeze(-1); }

 private:
  void merge_one(const Tensor& block_out, const Tensor& block_lse, bool partial) {
    if (!lse_.defined()) {
      lse_ = block_lse;
      out_ = block_out;
      return;
    }
    Tensor lse = partial ? second_half(lse_) : lse_;
    Tensor out = partial ? second_half(out_) : out_;
    {
      Tensor weight = ghost::sigmoid(block_lse.sub(lse));
      out = out.sub(std::move(weight).mul(out.sub(block_out)));
    }
    lse = lse.sub(ghost::log_sigmoid(lse.sub(block_lse)));
    if (partial) {
      lse_ = with_second_half(lse_, lse);
      out_ = with_second_half(out_, out);
    } else {
      lse_ = lse;
      out_ = out;
    }
  }

  DType dtype_ = DType::float32;
  Tensor out_, lse_;
};

struct RingForward {
  Tensor out, logsumexp, rng_state, unused;
};

/// _templated_ring_attention.
RingForward ring_forward(const Ring& ring, ghost::AttentionKernel kernel, const Tensor& query,
                         const Tensor& given_key, const Tensor& given_value, double dropout) {
  Tensor key = given_key.contiguous(), value = given_value.contiguous();
  Merger merger;
  Rotater rotater(ring, ring.rotation);
  Tensor next_kv;
  StepInputs inputs;
  ghost::KernelForward made;
  for (std::int64_t i = 0; i < ring.size; ++i) {
    if (i > 0) {
      next_kv = rotater.next_buffer();
      key = part_of(next_kv, key);
      value = part_of(next_kv, value);
    }
    if (i < ring.size - 1) {
      next_kv = flat_pair(key, value);
      rotater.exchange_buffers(next_kv);
      next_kv.reset();
    }
    inputs = step_inputs(ring, i, {query, key, value});
    ghost::KernelForward step =
        ghost::attention_forward(kernel, inputs.query, inputs.key, inputs.value, dropout);
    made = std::move(step);
    merger.step(made.out, made.logsumexp, i > ring.rank);
  }
  return {merger.result(), merger.logsumexp(), made.rng_state, made.unused};
}

struct RingAttentionBackward final : ghost::Node {
  RingAttentionBackward(const Ring& of_ring, ghost::AttentionKernel of_kernel)
      : Node(of_kernel == ghost::AttentionKernel::flash
                 ? "ScaledDotProductFlashAttentionBackward0"
                 : "ScaledDotProductEfficientAttentionBackward0"),
        ring(of_ring),
        kernel(of_kernel) {}
  void apply(ghost::Gradients& in, ghost::Gradients& out) override {
    const Attended saved{query.unpack(),  key.unpack(),       value.unpack(),
                         output.unpack(), logsumexp.unpack(), kernel};
    ghost::KernelGradients gradients = ring_backward(ring, in[0], saved);
    out[0] = std::move(gradients.query);
    out[1] = std::move(gradients.key);
    out[2] = std::move(gradients.value);
  }
  void release() override {
    for (ghost::Saved* saved : {&query, &key, &value, &output, &logsumexp, &rng_state, &unused})
      saved->reset();
  }
  Ring ring;
  ghost::AttentionKernel kernel;
  ghost::Saved query, key, value, output, logsumexp, rng_state, unused;
};

}  // namespace

Tensor RingAttention::attend(ghost::AttentionKernel kernel, const Tensor& query, const Tensor& key,
                             const Tensor& value, const ghost::AttentionOptions& options) {
  const bool is_flash = kernel == ghost::AttentionKernel::flash;
  const ghost::Op op(is_flash ? "_flash_attention_forward" : "_efficient_attention_forward", {});
  const auto node =
      ghost::function_node<RingAttentionBackward>({&query, &key, &value}, ring_, kernel);
  if (node) {
    node->key.keep(key);
    node->query.keep(query);
    node->value.keep(value);
  }
  const ghost::GradMode no_grad(false);
  // A checkpoint's policy sees the op that the ring stands for.
  const char* const name =
      is_flash ? "_scaled_dot_product_flash_attention" : "_scaled_dot_product_efficient_attention";
  RingForward made;
  if (!ghost::recalled(name, {&made.out, &made.logsumexp, &made.rng_state, &made.unused})) {
    made = ring_forward(ring_, kernel, query, key, value, options.dropout);
    ghost::offer(name, {&made.out, &made.logsumexp, &made.rng_state, &made.unused});
  }
  if (!node) return made.out;
  ghost::set_history(made.out, node);
  node->logsumexp.keep_result(made.logsumexp);
  node->output.keep_result(made.out);
  // Only some releases make these tensors (changes::kFlashSeedOnDevice).
  if (is_flash && made.rng_state.defined()) node->rng_state.keep_result(made.rng_state);
  if (is_flash && made.unused.defined()) node->unused.keep_result(made.unused);
  return made.out;
}

}  // namespace memtape::torch_cp
