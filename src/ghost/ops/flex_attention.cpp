// SPDX-License-Identifier: Apache-2.0
#include "ghost/ops/flex_attention.h"

#include <utility>

#include "base/bytes.h"
#include "ghost/autograd/function.h"
#include "ghost/ops/creation.h"
#include "ghost/session.h"

namespace memtape::ghost {
namespace {

/// infer_dense_strides: rows outside of heads, or heads outside of rows, without gaps.
Tensor as_it_lies(const Dims& sizes, const Tensor& like) {
  const std::int64_t heads = sizes[1], rows = sizes[2], head = sizes[3];
  const bool has_rows_outside = like.strides()[2] > like.strides()[1];
  return has_rows_outside
             ? empty_strided(sizes, {rows * heads * head, head, heads * head, 1}, like.dtype())
             : empty(sizes, like.dtype());
}
Tensor like(const Tensor& x) { return as_it_lies(x.sizes(), x); }

/// flex_attention_backward: the kernel reads a packed gradient, and delta, the sum of out * grad_out
/// over each row.
struct FlexAttentionBackward final : Node {
  FlexAttentionBackward() : Node("CompiledFunctionBackward") {}
  void apply(Gradients& in, Gradients& out) override {
    const Op op("flex_attention_backward", {}, Role::flash_backward);
    const Tensor grad_out = in[0].contiguous();
    Tensor delta;
    {
      const Tensor row_sums = statistic.unpack();
      delta = empty(row_sums.sizes(), DType::float32);
    }
    output.reset();
    {
      const Tensor q = query.unpack(), k = key.unpack(), v = value.unpack();
      out[0] = like(q);
      out[2] = like(v);
      out[1] = like(k);
    }
    delta.reset();
    release();
  }
  void release() override {
    for (Saved* saved : {&query, &key, &value, &output, &statistic}) saved->reset();
  }
  Saved query, key, value, output, statistic;
};

}  // namespace

Tensor flex_attention(const Tensor& q, const Tensor& k, const Tensor& v) {
  const auto node = function_node<FlexAttentionBackward>({&q, &k, &v});
  const Op op("flex_attention", {});
  const Dims rows{q.size(0), q.size(1), q.size(2)};
  const Tensor logsumexp = empty(rows, DType::float32);
  Tensor out;
  {
    const Tensor max_scores = empty(rows, DType::float32);
    out = as_it_lies({q.size(0), q.size(1), q.size(2), v.size(3)}, q);
  }
  if (!node) return out;
  node->query.keep(q);
  node->key.keep(k);
  node->value.keep(v);
  set_history(out, node);
  node->output.keep_result(out);
  node->statistic.keep_result(logsumexp);
  return out;
}

BlockMask block_mask_of_documents(const Tensor& tokens) {
  const GradMode no_grad(false);
  constexpr std::int64_t kBlock = 128;
  const std::int64_t blocks = ceil_div(tokens.size(1), kBlock);
  const Op op("create_block_mask", {});
  BlockMask mask;
  mask.documents = empty(tokens.sizes(), DType::int32);
  for (int i = 0; i < 4; ++i) {  // rows and columns, partly and wholly allowed
    mask.counts.push_back(empty({tokens.size(0), 1, blocks}, DType::int32));
    mask.indices.push_back(empty({tokens.size(0), 1, blocks, blocks}, DType::int32));
  }
  return mask;
}

}  // namespace memtape::ghost
