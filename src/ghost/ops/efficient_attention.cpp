// SPDX-License-Identifier: Apache-2.0
#include "ghost/ops/efficient_attention.h"

#include <functional>
#include <utility>

#include "ghost/autograd/node.h"
#include "ghost/autograd/selective_checkpoint.h"
#include "ghost/ops/efficient_kernels.h"
#include "ghost/trace.h"
#include "release/torch_changes.h"

namespace memtape::ghost {
namespace {

constexpr std::int64_t kAlignLse = 32;       // kernel_forward.h
constexpr std::int64_t kAlignBiasGrad = 16;  // attention_backward.cu

EfficientShape shape_of(const Tensor& q, const Tensor& k, const Tensor& v, double dropout) {
  return {.batch = q.size(0),
          .heads = q.size(1),
          .queries = q.size(2),
          .keys = k.size(2),
          .head = q.size(3),
          .value_head = v.size(3),
          .dropout = dropout > 0.0};
}

/// A packed [B, S, H, D] seen as [B, H, S, D].
Tensor rows_first(const Tensor& like) {
  return empty({like.size(0), like.size(2), like.size(1), like.size(3)}, like.dtype())
      .transpose(1, 2);
}

/// delta [B, H, S]: the kernel's to fill, or (grad.to(float) * out.to(float)).sum(-1) of the
/// transposed tensors.
Tensor delta_of(const EfficientBackwardKernel& kernel, const Tensor& grad, const Tensor& out) {
  if (kernel.computes_delta)
    return empty({grad.size(0), grad.size(2), grad.size(1)}, DType::float32);
  const Tensor grad_float = grad.to_float();
  const Tensor out_float = out.to_float();
  const Tensor product = grad_float.mul(out_float);
  const Tensor sum = product.sum(-1);
  return sum.transpose(-2, -1).contiguous();
}

/// The gradient of a mask seen at `sizes`, whose rows are padded.
Tensor bias_gradient(Dims sizes, DType dtype) {
  const std::int64_t columns = sizes.back();
  sizes[-1] = round_up(columns, kAlignBiasGrad);
  return empty(sizes, dtype).slice(-1, 0, columns);
}

/// `makes_bias_gradient`: where a mask's gradient comes, if one is wanted.
KernelGradients backward_of(const Tensor& grad_out, const Tensor& q, const Tensor& k,
                            const Tensor& v, const Tensor& out, const EfficientShape& shape,
                            const std::function<void()>& makes_bias_gradient) {
  Op op("_efficient_attention_backward", {});
  const Tensor grad = grad_out.transpose(1, 2).contiguous();
  KernelGradients gradients;
  gradients.query = rows_first(q);
  gradients.key = rows_first(k);
  gradients.value = rows_first(v);
  Tensor expanded_key, expanded_value;  // of every query head, summed into the groups' afterwards
  if (k.size(1) != q.size(1)) {
    expanded_key = empty({shape.batch, shape.keys, shape.heads, shape.head}, k.dtype());
    expanded_value = empty({shape.batch, shape.keys, shape.heads, shape.value_head}, v.dtype());
  }
  makes_bias_gradient();
  const EfficientBackwardKernel kernel =
      efficient_backward_kernel(session().device, q.dtype(), shape);
  const Tensor delta = delta_of(kernel, grad, out.transpose(1, 2));
  const Tensor workspace = empty({kernel.workspace(shape)}, DType::uint8, Category::workspace);
  return gradients;
}

struct ScaledDotProductEfficientAttentionBackward0 final : Node {
  explicit ScaledDotProductEfficientAttentionBackward0(const AttentionOptions& forward_options)
      : Node("ScaledDotProductEfficientAttentionBackward0"), options(forward_options) {}
  void apply(Gradients& in, Gradients& out) override;
  void release() override {
    bias.reset();
    key.reset();
    query.reset();
    value.reset();
    logsumexp.reset();
    output.reset();
    seed.reset();
    offset.reset();
  }
  AttentionOptions options;
  Saved query, key, value, bias, output, logsumexp, seed, offset;
};

void ScaledDotProductEfficientAttentionBackward0::apply(Gradients& in, Gradients& out) {
  const Tensor q = query.unpack(), k = key.unpack(), v = value.unpack(), result = output.unpack();
  KernelGradients made =
      backward_of(in[0], q, k, v, result, shape_of(q, k, v, options.dropout), [&] {
        if (wants(3)) out[3] = bias_gradient(bias.unpack().sizes(), q.dtype());
      });
  out[0] = std::move(made.query);
  out[1] = std::move(made.key);
  out[2] = std::move(made.value);
}

KernelForward forward_of(const Tensor& q, const EfficientShape& shape, bool computes_lse) {
  Tensor seed, offset;
  if (!shape.dropout && has(changes::kEfficientSeedOnDevice)) {
    seed = empty({}, DType::int64);
    offset = empty({}, DType::int64);
  }
  Tensor out = empty({shape.batch, shape.queries, shape.heads, shape.value_head}, q.dtype());
  const std::int64_t lse_rows = computes_lse ? round_up(shape.queries, kAlignLse) : 0;
  Tensor logsumexp = empty({shape.batch, shape.heads, lse_rows}, DType::float32);
  if (efficient_forward_accumulates(q.dtype(), shape))
    const Tensor accumulator = empty(out.sizes(), DType::float32);
  return {std::move(out).transpose(1, 2), std::move(logsumexp), std::move(seed), std::move(offset)};
}

}  // namespace

KernelForward efficient_forward(const Tensor& q, const Tensor& k, const Tensor& v, double dropout) {
  Op op("_efficient_attention_forward", {});
  return forward_of(q, shape_of(q, k, v, dropout), true);
}

KernelGradients efficient_backward(const Tensor& grad_out, const Tensor& q, const Tensor& k,
                                   const Tensor& v, const Tensor& out, double dropout) {
  return backward_of(grad_out, q, k, v, out, shape_of(q, k, v, dropout), [] {});
}

Tensor efficient_attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& bias,
                           const AttentionOptions& options) {
  Op op("_efficient_attention_forward", {});
  traced_reads({&q, &k, &v, &bias});
  const Session& s = session();
  const bool computes_lse =
      s.grad_enabled && (q.requires_grad() || k.requires_grad() || v.requires_grad());
  Ptr<ScaledDotProductEfficientAttentionBackward0> node;
  if (computes_lse && !s.skipping) {
    node = op.node<ScaledDotProductEfficientAttentionBackward0>({&q, &k, &v, &bias}, options);
    if (bias.defined()) node->bias.keep(bias);
    node->key.keep(k);
    node->query.keep(q);
    node->value.keep(v);
  }
  constexpr const char* kName = "_scaled_dot_product_efficient_attention";
  KernelForward made;
  if (!recalled(kName, {&made.out, &made.logsumexp, &made.rng_state, &made.unused})) {
    const GradMode below_autograd(false);
    made = forward_of(q, shape_of(q, k, v, options.dropout), computes_lse);
    offer(kName, {&made.out, &made.logsumexp, &made.rng_state, &made.unused});
  }
  Tensor out = std::move(made.out), logsumexp = std::move(made.logsumexp);
  if (node) {
    set_history(out, node);
    node->logsumexp.keep_result(logsumexp);
    node->output.keep_result(out);
    if (made.rng_state.defined()) node->seed.keep_result(made.rng_state);
    if (made.unused.defined()) node->offset.keep_result(made.unused);
  }
  return out;
}

}  // namespace memtape::ghost
