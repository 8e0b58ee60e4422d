// SPDX-License-Identifier: Apache-2.0
#include "ghost/ops/flash_attn_3.h"

#include "ghost/autograd/function.h"
#include "ghost/ops/creation.h"
#include "ghost/session.h"

namespace memtape::ghost {
namespace {

/// round_up_headdim.
std::int64_t head_of_kernel(std::int64_t head) {
  for (const std::int64_t built : {64, 96, 128, 192})
    if (head <= built) return built;
  return 256;
}

/// kBlockM of mha_bwd for a causal mask: that of Hopper, of Ampere's A100, and of other GPUs.
std::int64_t query_block(std::int64_t head) {
  const auto& device = session().device;
  const int capability = 10 * device.major + device.minor;
  if (capability == 86 || capability == 89) return head <= 192 ? 64 : 32;
  return head <= 64 ? 128 : 64;
}

/// kBlockN of mha_bwd.
std::int64_t key_block(std::int64_t head) { return head <= 128 ? 128 : head <= 192 ? 96 : 80; }

struct FlashAttnFunc3Backward final : Node {
  FlashAttnFunc3Backward() : Node("FlashAttnFuncBackward") {}
  void apply(Gradients& in, Gradients& out) override;
  void release() override {
    for (Saved* saved : {&query, &key, &value, &output, &logsumexp}) saved->reset();
  }
  Saved query, key, value, output, logsumexp;
};

void FlashAttnFunc3Backward::apply(Gradients& in, Gradients& out) {
  const Tensor q = query.unpack(), k = key.unpack(), v = value.unpack();
  out[0] = empty_like(q, q.dtype());
  out[1] = empty_like(k, k.dtype());
  out[2] = empty_like(v, v.dtype());
  const Tensor dout = in[0].contiguous();
  const std::int64_t batch = q.size(0), heads = q.size(2), groups = k.size(2);
  const std::int64_t head = head_of_kernel(std::max(q.size(3), v.size(3)));
  const std::int64_t block = query_block(head), rows = round_up(q.size(1), block);
  const Op op("flash_attn_3_bwd", {});
  const Tensor softmax_d = empty({batch, heads, rows}, DType::float32);
  const Tensor softmax_lse_log2 = empty({batch, heads, rows}, DType::float32);
  const Tensor dq_accumulator = empty({batch, heads, rows * head}, DType::float32);
  Tensor dk_accumulator, dv_accumulator;
  if (groups != heads) {
    const std::int64_t keys = round_up(k.size(1), key_block(head));
    dk_accumulator = empty({batch, groups, keys * head}, DType::float32);
    dv_accumulator = empty({batch, groups, keys * head}, DType::float32);
  }
  const Tensor dq_semaphore = empty({rows / block, batch, heads}, DType::int32);
}

}  // namespace

Tensor flash_attn_3(const Tensor& query, const Tensor& key, const Tensor& value) {
  const auto node = function_node<FlashAttnFunc3Backward>({&query, &key, &value});
  const Op op("flash_attn_func", {});
  Tensor out = empty({query.size(0), query.size(1), query.size(2), value.size(3)}, query.dtype());
  const Tensor logsumexp = empty({query.size(0), query.size(2), query.size(1)}, DType::float32);
  if (!node) return out;
  node->query.keep(query);
  node->key.keep(key);
  node->value.keep(value);
  node->output.keep_result(out);
  node->logsumexp.keep(logsumexp);
  set_history(out, node);
  return out;
}

}  // namespace memtape::ghost
