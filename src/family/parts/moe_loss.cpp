// SPDX-License-Identifier: Apache-2.0
#include "family/parts/moe_decoder.h"

#include "ghost/autocast.h"
#include "ghost/autograd/node.h"
#include "ghost/ops/copies.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "ghost/ops/sorting.h"
#include "release/transformers_5_changes.h"

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

/// The float32 sums over all layers; total_rows is a number while no mask counts them.
struct Sums {
  Tensor tokens_per_expert, router_prob, total_rows;
};

void add_rows(Sums& sums, const Tensor& routing_weights, const Tensor& selected_experts,
              std::int64_t num_experts) {
  sums.tokens_per_expert =
      sums.tokens_per_expert.add(bincount(selected_experts.reshape({-1}), num_experts).to_float());
  sums.router_prob = sums.router_prob.add(routing_weights.to_float().sum(0));
}

/// zeros(num_experts).scatter_add_(0, selected, mask): no padding counts.
void add_masked_rows(Sums& sums, const Tensor& routing_weights, const Tensor& selected_experts,
                     const Tensor& flat_mask) {
  {
    Tensor counts = ghost::zeros(sums.tokens_per_expert.sizes(), DType::float32);
    {
      const std::int64_t top_k = selected_experts.size(-1);
      const Tensor weights = ghost::repeat_interleave(flat_mask, top_k, 0);
    }
    sums.tokens_per_expert = sums.tokens_per_expert.add(counts);
  }
  sums.router_prob =
      sums.router_prob.add(routing_weights.to_float().mul(flat_mask.unsqueeze(-1)).sum(0));
  Tensor rows = ghost::sum_all(flat_mask);
  sums.total_rows = sums.total_rows.defined() ? sums.total_rows.add(rows) : rows.add(0.0);
}

Tensor over(const Tensor& sum, const Tensor& total_rows) {
  return total_rows.defined() ? sum.div(total_rows) : sum.div(2.0);
}

/// Times the number of experts.
Tensor overall_loss(const Tensor& tokens_per_expert, const Tensor& router_prob_per_expert) {
  const Tensor overall = ghost::sum_all(tokens_per_expert.mul(router_prob_per_expert.unsqueeze(0)));
  return overall.mul(2.0);
}

/// The mask [batch, sequence] as a tensor of `sizes`, whose rows are all tokens of all layers.
Tensor spread(const Tensor& attention_mask, std::int64_t layers, const Dims& sizes) {
  Tensor view = attention_mask.unsqueeze(0);
  Dims wanted{layers, attention_mask.size(0), attention_mask.size(1)};
  for (int d = 1; d < sizes.rank(); ++d) {
    view = view.unsqueeze(-1);
    wanted.push_back(sizes[d]);
  }
  return view.expand(wanted).reshape(sizes);
}

/// Before kBalancesLayerByLayer: all layers' rows at once, with a mask of each expert.
Tensor loss_of_all_layers(const std::vector<Tensor>& gate_logits, std::int64_t num_experts,
                          std::int64_t top_k, const Tensor& attention_mask) {
  const Tensor concatenated_gate_logits = ghost::cat(gate_logits, 0);
  const Tensor routing_weights =
      ghost::softmax(concatenated_gate_logits, ghost::reduction_dtype(concatenated_gate_logits));
  const ghost::ValuesAndIndices selected_experts = ghost::topk(routing_weights, top_k);
  const Tensor expert_mask = ghost::one_hot(selected_experts.second, num_experts);
  Tensor tokens_per_expert, router_prob_per_expert, expert_attention_mask, router_attention_mask;
  if (attention_mask.defined()) {
    const auto layers = static_cast<std::int64_t>(gate_logits.size());
    expert_attention_mask = spread(attention_mask, layers, expert_mask.sizes());
    tokens_per_expert =
        expert_mask.to_float().mul(expert_attention_mask).sum(0).div(expert_attention_mask.sum(0));
    router_attention_mask = spread(attention_mask, layers, routing_weights.sizes());
    router_prob_per_expert =
        routing_weights.mul(router_attention_mask).sum(0).div(router_attention_mask.sum(0));
  } else {
    tokens_per_expert = expert_mask.to_float().mean(0);
    router_prob_per_expert = routing_weights.mean(0);
  }
  return overall_loss(tokens_per_expert, router_prob_per_expert);
}

}  // namespace

Tensor load_balancing_loss(const std::vector<Tensor>& gate_logits, std::int64_t num_experts,
                           std::int64_t top_k, const Tensor& attention_mask) {
  if (!ghost::has(changes::kBalancesLayerByLayer))
    return loss_of_all_layers(gate_logits, num_experts, top_k, attention_mask);
  Sums sums{.tokens_per_expert = ghost::zeros({num_experts}, DType::float32),
            .router_prob = ghost::zeros({num_experts}, DType::float32),
            .total_rows = {}};
  Tensor flat_mask, routing_weights;
  if (attention_mask.defined()) flat_mask = attention_mask.reshape({-1}).to_float();
  ghost::ValuesAndIndices selected_experts;
  for (const Tensor& layer_gate : gate_logits) {
    routing_weights = ghost::softmax(layer_gate, ghost::reduction_dtype(layer_gate));
    selected_experts = ghost::topk(routing_weights, top_k);
    if (flat_mask.defined())
      add_masked_rows(sums, routing_weights, selected_experts.second, flat_mask);
    else
      add_rows(sums, routing_weights, selected_experts.second, num_experts);
  }
  const Tensor tokens_per_expert = over(sums.tokens_per_expert, sums.total_rows);
  const Tensor router_prob_per_expert = over(sums.router_prob, sums.total_rows);
  return overall_loss(tokens_per_expert, router_prob_per_expert);
}

}  // namespace memtape::family
