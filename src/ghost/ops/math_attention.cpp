// SPDX-License-Identifier: Apache-2.0
#include "ghost/ops/math_attention.h"

#include "ghost/autograd/node.h"
#include "ghost/ops/comparisons.h"
#include "ghost/ops/copies.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/dropout.h"
#include "ghost/ops/matmul.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "ghost/ops/triangular.h"
#include "release/torch_changes.h"

namespace memtape::ghost {
namespace {

bool is_accumulated_in_float32(DType dtype) {
  return dtype == DType::float16 || dtype == DType::bfloat16;
}

/// Halves in float32, unless torch.backends.cuda.allow_fp16_bf16_reduction_math_sdp(True).
Tensor accumulated(const Tensor& tensor) {
  return is_accumulated_in_float32(tensor.dtype()) ? tensor.to_float() : tensor;
}

/// pre_process_group_query_attention_input.
Tensor grouped(const Tensor& tensor, const Tensor& query, bool enable_gqa) {
  const std::int64_t times = query.size(1) / tensor.size(1);
  return enable_gqa && times > 1 ? repeat_interleave(tensor, times, 1) : tensor;
}

struct AddInPlaceBackward final : Node {
  AddInPlaceBackward() : Node("AddBackward0") {}
  void apply(Gradients& in, Gradients& out) override {
    if (wants(1)) out[1] = in[0];
    if (wants(0)) out[0] = in[0];
  }
  void release() override {}
};

/// attn.add_(mask).
void add_in_place(Tensor& attn, const Tensor& mask) {
  const Session& s = session();
  Op op("add_", {});
  if (!s.grad_enabled || s.skipping || !(attn.requires_grad() || mask.requires_grad())) return;
  set_history(attn, op.node<AddInPlaceBackward>({&attn, &mask}));
}

struct SafeSoftmaxBackward0 final : Node {
  explicit SafeSoftmaxBackward0(DType input) : Node("SafeSoftmaxBackward0"), dtype(input) {}
  void apply(Gradients& in, Gradients& out) override {
    const Tensor kept = result.unpack();
    out[0] = softmax_backward_data(in[0], kept, dtype);
  }
  void release() override { result.reset(); }
  Saved result;
  DType dtype;
};

/// Zeros in the rows where all was masked. torch 2.5 compares with a tensor of -inf, and makes a
/// result beside the softmax.
Tensor without_masked_rows(const Tensor& self, const Tensor& out) {
  const bool in_place = has(changes::kSafeSoftmaxInPlace);
  const Tensor lowest = in_place ? Tensor() : empty({}, self.dtype());
  const Tensor masked = isneginf(self);
  const Tensor masked_rows = empty(self.sizes().leading().with(1), DType::boolean);
  const Tensor zero = empty({}, out.dtype());
  return in_place ? out : empty(out.sizes(), out.dtype());
}

/// at::_safe_softmax.
Tensor safe_softmax(const Tensor& self) {
  Op op("_safe_softmax", {});
  const Session& s = session();
  Ptr<SafeSoftmaxBackward0> node;
  if (s.grad_enabled && !s.skipping && self.requires_grad())
    node = op.node<SafeSoftmaxBackward0>({&self}, self.dtype());
  Tensor out;
  {
    const GradMode below_autograd(false);
    out = without_masked_rows(self, softmax(self, self.dtype()));
  }
  if (node) {
    set_history(out, node);
    node->result.keep_result(out);
  }
  return out;
}

/// The mask of is_causal: ones().tril(), made additive.
Tensor causal_mask(const Tensor& query, const Tensor& key) {
  Tensor mask;
  {
    const Tensor all = ones({query.size(-2), key.size(-2)}, DType::boolean);
    mask = tril(all);
  }
  return additive_mask(mask, query.dtype());
}

}  // namespace

Tensor additive_mask(const Tensor& mask, DType dtype) {
  if (!mask.defined() || mask.dtype() != DType::boolean) return mask;
  if (!has(changes::kBoolMaskBecomesBiasByWhere)) {
    Op op("masked_fill_", {});
    Tensor bias = zeros(mask.sizes(), dtype);
    const Tensor turned = empty_like(mask, DType::boolean);
    return bias;
  }
  Op op("where", {});
  const Tensor first = empty({}, dtype);
  Tensor turned;
  if (!has(changes::kBoolMaskIsNotTurned)) turned = empty_like(mask, DType::boolean);
  const Tensor second = empty({}, dtype);
  return where(mask, second, first);
}

Tensor math_attention(const Tensor& query_, const Tensor& key, const Tensor& value,
                      const Tensor& given_mask, const AttentionOptions& options) {
  const DType origin = query_.dtype();
  const Tensor query_acc = accumulated(query_), key_acc = accumulated(key),
               value_acc = accumulated(value);
  const Tensor query = query_acc.mul(kScale);
  const Tensor mask = options.is_causal ? causal_mask(query, key_acc) : given_mask;
  const Tensor key_expanded = grouped(key_acc, query, options.enable_gqa);
  const Tensor value_expanded = grouped(value_acc, query, options.enable_gqa);
  Tensor attn = matmul(query, key_expanded.transpose(-2, -1).mul(kScale));
  if (mask.defined()) add_in_place(attn, mask);
  attn = has(changes::kSafeSoftmax) ? safe_softmax(attn) : softmax(attn, attn.dtype());
  if (options.dropout > 0.0) attn = dropout(attn, options.dropout);
  // The second value of the returned pair: GCC evaluates the arguments of make_tuple from the
  // right.
  const Tensor weights = attn.to(origin);
  const Tensor product = matmul(attn, value_expanded);
  return product.to(origin);
}

}  // namespace memtape::ghost
