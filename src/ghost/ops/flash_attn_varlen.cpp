// SPDX-License-Identifier: Apache-2.0
#include "ghost/ops/flash_attn_varlen.h"

#include <utility>

#include "ghost/autograd/function.h"
#include "ghost/ops/creation.h"

namespace memtape::ghost {
namespace {

/// Rows that backward adds for each sequence.
constexpr std::int64_t kBlockRows = 128;

/// head_size_rounded: to 32, above 128 to 64 (round_multiple in mha_varlen_bwd).
std::int64_t varlen_head_as_padded(std::int64_t head) {
  return head <= 128 ? round_up(head, 32) : round_up(head, 64);
}

struct FlashAttnVarlenFuncBackward final : Node {
  FlashAttnVarlenFuncBackward() : Node("FlashAttnVarlenFuncBackward") {}
  void apply(Gradients& in, Gradients& out) override;
  void release() override {
    for (Saved* saved :
         {&query, &key, &value, &output, &logsumexp, &bounds_q, &bounds_k, &rng_state})
      saved->reset();
  }
  Saved query, key, value, output, logsumexp, bounds_q, bounds_k, rng_state;
};

void FlashAttnVarlenFuncBackward::apply(Gradients& in, Gradients& out) {
  const Tensor q = query.unpack(), k = key.unpack(), v = value.unpack();
  const Tensor bounds = bounds_q.unpack();
  out[0] = empty_like(q, q.dtype());
  out[1] = empty_like(k, k.dtype());
  out[2] = empty_like(v, v.dtype());
  const Tensor dout = in[0].contiguous();
  const std::int64_t heads = q.size(1), head = q.size(2);
  const std::int64_t rows = q.size(0) + kBlockRows * (bounds.size(0) - 1);
  const Op op("flash_attn_varlen_bwd", {});
  const Tensor softmax_d = empty({heads, rows}, DType::float32);
  const Tensor dq_accumulator = empty({rows, heads, varlen_head_as_padded(head)}, DType::float32);
  Tensor dk_expanded, dv_expanded;
  if (k.size(1) != heads) {
    dk_expanded = empty({k.size(0), heads, head}, k.dtype());
    dv_expanded = empty({k.size(0), heads, head}, k.dtype());
  }
}

}  // namespace

Tensor flash_attn_varlen(const Tensor& query, const Tensor& key, const Tensor& value,
                         const SequenceBounds& bounds) {
  const auto node = function_node<FlashAttnVarlenFuncBackward>({&query, &key, &value});
  const Op op("flash_attn_varlen_fwd", {});
  Tensor out = empty_like(query, query.dtype());
  const Tensor logsumexp = empty({query.size(1), query.size(0)}, DType::float32);
  const Tensor rng_state = empty({2}, DType::int64);
  if (!node) return out;
  node->query.keep(query);
  node->key.keep(key);
  node->value.keep(value);
  node->output.keep_result(out);
  node->logsumexp.keep(logsumexp);
  node->bounds_q.keep(bounds.queries);
  node->bounds_k.keep(bounds.keys);
  node->rng_state.keep(rng_state);
  set_history(out, node);
  return out;
}

}  // namespace memtape::ghost
