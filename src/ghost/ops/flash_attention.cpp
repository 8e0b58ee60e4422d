// SPDX-License-Identifier: Apache-2.0
#include "ghost/ops/flash_attention.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "ghost/autograd/node.h"
#include "ghost/autograd/selective_checkpoint.h"
#include "ghost/ops/creation.h"
#include "ghost/trace.h"
#include "release/torch_changes.h"

namespace memtape::ghost {
namespace {

/// num_splits_heuristic of flash_api.cpp: how many parts the keys are split into when too few
/// blocks would fill the device.
int split_count(std::int64_t blocks, int processors, std::int64_t key_blocks) {
  if (static_cast<double>(blocks) >= 0.8 * processors) return 1;
  const auto most = static_cast<int>(std::min<std::int64_t>({128, processors, key_blocks}));
  const auto eligible = [&](int n) {
    return n == 1 || ceil_div(key_blocks, n) != ceil_div(key_blocks, n - 1);
  };
  const auto efficiency = [&](int n) {
    const float waves = static_cast<float>(blocks * n) / static_cast<float>(processors);
    return waves / std::ceil(waves);
  };
  float best = 0;
  for (int n = 1; n <= most; ++n)
    if (eligible(n)) best = std::max(best, efficiency(n));
  for (int n = 1; n <= most; ++n)
    if (eligible(n) && static_cast<double>(efficiency(n)) >= 0.85 * static_cast<double>(best))
      return n;
  return 1;
}

std::int64_t head_as_padded(std::int64_t head) {
  return round_up(head, head > 128 && has(changes::kFlashRoundsHeadsTo64) ? 64 : 32);
}

struct ScaledDotProductFlashAttentionBackward0 final : Node {
  ScaledDotProductFlashAttentionBackward0() : Node("ScaledDotProductFlashAttentionBackward0") {}
  void apply(Gradients& in, Gradients& out) override;
  void release() override {
    key.reset();
    query.reset();
    value.reset();
    logsumexp.reset();
    output.reset();
    rng_state.reset();
    unused.reset();
  }
  Saved query, key, value, output, logsumexp, rng_state, unused;
};

void ScaledDotProductFlashAttentionBackward0::apply(Gradients& in, Gradients& out) {
  const Tensor q = query.unpack(), k = key.unpack(), v = value.unpack();
  KernelGradients gradients = flash_backward(in[0], q, k, v, output.unpack());
  out[0] = std::move(gradients.query);
  out[1] = std::move(gradients.key);
  out[2] = std::move(gradients.value);
}

struct SplitScratch {
  Tensor logsumexp, output;
};

/// set_params_splitkv: fp32 partial results, when the keys are split. A single query of grouped
/// heads is turned round first: the groups become the queries (seqlenq_ngroups_swapped).
SplitScratch split_scratch(const Tensor& q, const Tensor& k, double dropout) {
  if (dropout > 0) return {};
  const std::int64_t batch = q.size(0), head = q.size(3);
  std::int64_t heads = q.size(1), rows = q.size(2);
  if (rows == 1 && heads > k.size(1) && head % 8 == 0) {
    rows = heads / k.size(1);
    heads = k.size(1);
  }
  const std::int64_t block = head <= 64 ? 256 : head <= 128 ? 128 : 64;
  const int processors =
      session().device.sm_count * (has(changes::kFlashFillsProcessorsTwice) ? 2 : 1);
  const int splits =
      split_count(batch * heads * ceil_div(rows, 64), processors, ceil_div(k.size(2), block));
  if (splits <= 1) return {};
  return {empty({splits, batch, heads, rows}, DType::float32),
          empty({splits, batch, heads, rows, head_as_padded(head)}, DType::float32)};
}

}  // namespace

/// mha_bwd: dq, dk, dv like their inputs; then softmax_d, the fp32 accumulator of dq and, for
/// grouped queries, dk and dv of every query head.
KernelGradients flash_backward(const Tensor& grad_out, const Tensor& q, const Tensor& k,
                               const Tensor& v, const Tensor& out) {
  const Tensor grad = grad_out.transpose(1, 2);
  Op op("_flash_attention_backward", {}, Role::flash_backward);
  const Tensor dout = grad.contiguous();
  const Tensor dense_out = out.transpose(1, 2).contiguous();
  const Tensor dq = empty_like(q, q.dtype());
  const Tensor dk = empty_like(k, k.dtype());
  const Tensor dv = empty_like(v, v.dtype());
  const std::int64_t batch = q.size(0), heads = q.size(1), rows = round_up(q.size(2), 128),
                     head = q.size(3);
  const Tensor softmax_d = empty({batch, heads, rows}, DType::float32);
  const Tensor dq_accumulator = empty({batch, rows, heads, head_as_padded(head)}, DType::float32);
  Tensor dk_expanded, dv_expanded;
  if (k.size(1) != heads) {
    dk_expanded = empty({batch, k.size(2), heads, head}, k.dtype());
    dv_expanded = empty({batch, k.size(2), heads, head}, k.dtype());
  }
  return {dq, dk, dv};
}

KernelForward flash_forward(const Tensor& q, const Tensor& k, const Tensor& v, double dropout) {
  Op op("_flash_attention_forward", {});
  traced_reads({&q, &k, &v});
  KernelForward made;
  made.out = empty_like(q, q.dtype());
  made.logsumexp = empty({q.size(0), q.size(1), q.size(2)}, DType::float32);
  const SplitScratch scratch = split_scratch(q, k, dropout);
  if (!has(changes::kFlashSeedOnDevice)) return made;
  made.rng_state = empty({2}, DType::int64);
  made.unused = empty({}, DType::int64);
  if (dropout > 0.0)
    made.rng_state = empty({2}, DType::int64);  // made anew, then the first one goes
  return made;
}

Tensor flash_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                       const AttentionOptions& options) {
  Op op("_flash_attention_forward", {});
  Session& s = session();
  Ptr<ScaledDotProductFlashAttentionBackward0> node;
  if (s.grad_enabled && !s.skipping &&
      (q.requires_grad() || k.requires_grad() || v.requires_grad())) {
    node = op.node<ScaledDotProductFlashAttentionBackward0>({&q, &k, &v});
    node->key.keep(k);
    node->query.keep(q);
    node->value.keep(v);
  }
  constexpr const char* kName = "_scaled_dot_product_flash_attention";
  KernelForward made;
  if (!recalled(kName, {&made.out, &made.logsumexp, &made.rng_state, &made.unused})) {
    made = flash_forward(q, k, v, options.dropout);
    offer(kName, {&made.out, &made.logsumexp, &made.rng_state, &made.unused});
  }
  auto [out, logsumexp, rng_state, unused] = std::move(made);
  if (node) {
    set_history(out, node);
    node->logsumexp.keep_result(logsumexp);
    node->output.keep_result(out);
    if (rng_state.defined()) node->rng_state.keep_result(rng_state);
    if (unused.defined()) node->unused.keep_result(unused);
  }
  return out;
}

}  // namespace memtape::ghost
