// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/trl/fused_lm_head.h"

#include "family/parts/experts.h"
#include "family/parts/routed_model.h"
#include "framework/transformers/trl/whole_logits.h"
#include "ghost/autograd/node.h"
#include "ghost/ops/comparisons.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "ghost/ops/sum_of_bools.h"
#include "nn/layers.h"
#include "release/trl_changes.h"

namespace memtape::transformers::trl {
namespace {

using ghost::Op;
using ghost::Tensor;

/// x.new_zeros(mask.shape).masked_scatter(mask, x)
Tensor spread(const Tensor& x, const Tensor& mask) {
  if (!x.defined()) return {};
  return ghost::masked_scatter(ghost::zeros(mask.sizes(), x.dtype()), mask, x);
}

/// -log_probs.sum() / mask.sum().clamp(min=1)
Tensor mean_loss(const Tensor& log_probs, const Tensor& mask) {
  const Tensor negated = ghost::sum_all(log_probs).neg();
  return negated.div(ghost::clamp(sum_of_bools(mask), {.min = 1}));
}

/// weight.full_tensor(), where the head is still cut when the loss asks for it: FSDP2 gathers a
/// unit when its own forward is called. Shards of what is frozen are in the dtype it was made in.
Tensor full_tensor(const Tensor& weight, DType made_in) {
  const auto& storage = weight.impl().storage;
  if (storage && !storage->is_empty) return weight;
  const Op op("_allgather_base_", {});
  return ghost::empty(weight.sizes(), weight.requires_grad() ? weight.dtype() : made_in,
                      Category::communication);
}

/// Of a model that ZeRO 3 has cut.
GatherHead gather_of(const PreparedModel& model) {
  if (!model.is_gathered_by_module()) return {};
  const nn::Projection& head = *model.model().head();
  return [&model, &head] { return model.gathered({head.weight, head.bias}); };
}

LogProbs score(const Tensor& hidden_states, const Tensor& labels, const Tensor& mask,
               family::PretrainedModel& model, FusedCount count, const GatherHead& gather_head) {
  const nn::Projection& lm_head = *model.head();
  const std::shared_ptr<void> whole = gather_head ? gather_head() : nullptr;
  const Tensor weight = full_tensor(lm_head.weight, model.tree.dtype());
  const Tensor hidden = ghost::index_by_mask(hidden_states, mask, count.scored);
  const Tensor targets = ghost::index_by_mask(labels, mask, count.scored);
  return chunked_logprob(hidden, weight, lm_head.bias, targets, count.outputs, gather_head);
}

}  // namespace

FusedOutput fused_forward(family::PretrainedModel& model, const family::Batch& inputs,
                          FusedCount count, const GatherHead& gather_head) {
  const auto* routed =
      count.balances_experts ? dynamic_cast<const family::RoutedModel*>(&model) : nullptr;
  family::RouterLogits collector(routed != nullptr);
  const Tensor last_hidden_state = model.last_hidden_state(inputs);
  const std::vector<Tensor>& router_logits = collector.stop();
  const Tensor hidden_states = last_hidden_state.slice(1, 0, -1);
  const Tensor labels = inputs.labels.slice(1, 1, inputs.labels.size(1));
  FusedOutput out;
  out.label_mask = ghost::ne(labels, ghost::kIgnoreIndex);
  {
    const LogProbs per_token =
        score(hidden_states, labels, out.label_mask, model, count, gather_head);
    out.log_probs = spread(per_token.log_probs, out.label_mask);
    out.entropy = spread(per_token.entropy, out.label_mask);
    out.mean_logits = spread(per_token.mean_logits, out.label_mask);
    out.is_top1 = spread(per_token.is_top1, out.label_mask);
  }
  out.loss = mean_loss(out.log_probs, out.label_mask);
  if (routed) {
    out.aux_loss = routed->balancing_loss(router_logits, inputs.attention_mask);
    out.loss = out.loss.add(out.aux_loss.mul(0.5));  // by router_aux_loss_coef
  }
  return out;
}

FusedOutput fused_forward(const PreparedModel& model, const family::Batch& inputs, FusedCount count,
                          PreparedModel::Callee callee) {
  if (!ghost::has(changes::kTrlFusesHead) && !count.in_chunks)
    return whole_logits_forward(model, inputs, count, callee);
  FusedOutput out;
  const auto forward = [&]() -> torch::DrivenModel::Outputs {
    out = fused_forward(model.model(), inputs, count, gather_of(model));
    torch::DrivenModel::Outputs outputs{&out.loss,        &out.log_probs, &out.entropy,
                                        &out.mean_logits, &out.is_top1,   &out.label_mask};
    if (out.aux_loss.defined()) outputs.push_back(&out.aux_loss);
    return outputs;
  };
  model.call(forward, callee);
  return out;
}

}  // namespace memtape::transformers::trl
