// SPDX-License-Identifier: Apache-2.0
#include "family/moe_decoder.h"

#include "ghost/autocast.h"
#include "ghost/autograd/node.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "ghost/ops/sorting.h"

namespace memtape::family {
namespace {

/// torch.bincount(x, minlength=bins) on CUDA (SummaryOps.cu): looks at the smallest and the
/// largest, then counts.
Tensor bincount(const In& x, std::int64_t bins) {
  {
    const Tensor smallest = ghost::max_all(*x);
  }
  {
    const Tensor largest = ghost::max_all(*x);
  }
  const ghost::Op op("bincount", {&x});
  return ghost::zeros({bins}, DType::int64);
}

}  // namespace

Tensor load_balancing_loss(const std::vector<Tensor>& gate_logits, std::int64_t num_experts,
                           std::int64_t top_k) {
  Tensor tokens_per_expert_sum = ghost::zeros({num_experts}, DType::float32);
  Tensor router_prob_sum = ghost::zeros({num_experts}, DType::float32);
  Tensor routing_weights;
  ghost::ValuesAndIndices selected_experts;
  for (const Tensor& layer_gate : gate_logits) {
    routing_weights = ghost::softmax(layer_gate, ghost::reduction_dtype(layer_gate));
    selected_experts = ghost::topk(routing_weights, top_k);
    tokens_per_expert_sum = tokens_per_expert_sum.add(
        bincount(selected_experts.second.reshape({-1}), num_experts).to_float());
    router_prob_sum = router_prob_sum.add(routing_weights.to_float().sum(0));
  }
  const Tensor tokens_per_expert = tokens_per_expert_sum.div(2.0);
  const Tensor router_prob_per_expert = router_prob_sum.div(2.0);
  const Tensor overall_loss =
      ghost::sum_all(tokens_per_expert.mul(router_prob_per_expert.unsqueeze(0)));
  return overall_loss.mul(2.0);
}

}  // namespace memtape::family
