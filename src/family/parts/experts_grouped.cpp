// SPDX-License-Identifier: Apache-2.0
// experts_implementation "grouped_mm" (integrations/moe.py, grouped_mm_experts_forward): tokens in
// the order of their experts, one product per expert, and back.
#include <utility>

#include "family/parts/experts.h"
#include "family/parts/experts_order.h"
#include "ghost/ops/comparisons.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/grouped_mm.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/sorting.h"
#include "ghost/ops/unary.h"
#include "nn/parametrize.h"
#include "release/transformers_changes.h"

namespace memtape::family {
namespace {

/// torch.argsort: the sorted values are dropped.
Tensor argsort(const Tensor& x) { return ghost::sort(x).second; }

/// arange(num_tokens).unsqueeze(1).expand(-1, num_top_k).reshape(-1)
Tensor token_indices(std::int64_t num_tokens, std::int64_t num_top_k) {
  return ghost::arange(num_tokens, DType::int64)
      .unsqueeze(1)
      .expand({num_tokens, num_top_k})
      .reshape({-1});
}

ghost::Groups count(const Tensor& expert_ids_g, std::int64_t num_experts, Tensor& histc_input) {
  const bool as_integers = ghost::has(changes::kExpertsCountIntegers);
  histc_input = expert_ids_g.to(as_integers ? DType::int32 : DType::float32);
  return ghost::count_groups(histc_input, num_experts);
}

}  // namespace

/// _grouped_linear; grouped_mm knows nothing of autocast, so the input takes the weights' dtype.
Tensor Experts::grouped_linear(const Tensor& input, const Linear& linear,
                               const Tensor& selected_biases, const Tensor& offsets) const {
  const Tensor selected_weights = nn::value_of(linear.weight);
  const Tensor weight = layout_.transposed ? selected_weights : selected_weights.transpose(-2, -1);
  Tensor out = ghost::grouped_mm(input.to(weight.dtype()), weight, offsets);
  if (!selected_biases.defined()) return out;
  if (!ghost::has(changes::kExpertsSortOnce)) return out.add(selected_biases);
  ghost::add_(out, selected_biases);
  return out;
}

Tensor Experts::grouped_forward(const Tensor& hidden_states, const Tensor& top_k_index,
                                const Tensor& top_k_weights) {
  if (!ghost::has(changes::kExpertsSortOnce))
    return grouped_forward_by_argsort(hidden_states, top_k_index, top_k_weights);
  const bool masks = !ghost::has(changes::kExpertsMaskOnlyWhereShared);
  const bool masks_products = masks && ghost::has(changes::kExpertsMaskTheirProducts);
  const TokensByExpert tokens = by_expert(hidden_states, top_k_index, top_k_weights);
  const Tensor& expert_ids_g = tokens.expert_ids_g;

  Tensor histc_input;
  const ghost::Groups groups = count(expert_ids_g, num_experts_, histc_input);
  Tensor sentinel_mask;
  if (masks) sentinel_mask = ghost::ge(expert_ids_g, num_experts_).unsqueeze(-1);
  const Tensor selected_weights = nn::value_of(gate_up_.weight);  // made before the mask is applied
  Tensor selected_biases;
  if (layout_.has_bias) selected_biases = ghost::index(gate_up_.bias, expert_ids_g);
  if (masks) ghost::masked_fill_(tokens.selected_hidden_states_g, sentinel_mask, 0);

  Tensor proj_out =
      grouped_linear(tokens.selected_hidden_states_g, gate_up_, selected_biases, groups.offsets);
  if (masks_products) proj_out = ghost::masked_fill(proj_out, sentinel_mask, 0);
  proj_out = activated(proj_out);
  if (layout_.has_bias) selected_biases = ghost::index(down_.bias, expert_ids_g);
  proj_out = grouped_linear(proj_out, down_, selected_biases, groups.offsets);
  if (masks_products) proj_out = ghost::masked_fill(proj_out, sentinel_mask, 0);
  Tensor weighted_out = proj_out.mul(tokens.sample_weights_g.unsqueeze(-1));
  if (masks && !masks_products) ghost::masked_fill_(weighted_out, sentinel_mask, 0);

  const Tensor inv_perm = inverse_of(tokens.perm);
  weighted_out = ghost::index(weighted_out, inv_perm);
  return sum_over_experts(weighted_out, hidden_states);
}

/// Before torch.sort gave both at once: the order by argsort, and the experts taken by it.
Tensor Experts::grouped_forward_by_argsort(const Tensor& hidden_states, const Tensor& top_k_index,
                                           const Tensor& top_k_weights) {
  const bool masks = ghost::has(changes::kExpertsMaskForeignTokens);
  const bool biases_first = !ghost::has(changes::kExpertsTakeBiasesInTurn);
  const std::int64_t num_top_k = top_k_index.size(-1), num_tokens = hidden_states.size(0);
  const Tensor token_idx = token_indices(num_tokens, num_top_k);
  const Tensor sample_weights = top_k_weights.reshape({-1});
  Tensor expert_ids = top_k_index.reshape({-1});
  Tensor invalid_mask, invalid_mask_g, selected_hidden_states;
  if (masks) {
    invalid_mask = ghost::ge(expert_ids, num_experts_);
    expert_ids = ghost::clamp(expert_ids, {.min = 0, .max = num_experts_ - 1});
  }
  const bool copies_twice = !ghost::has(changes::kExpertsCopyTokensOnce);
  if (copies_twice) selected_hidden_states = ghost::index(hidden_states, token_idx);
  const Tensor perm = argsort(expert_ids);
  const bool assigns = ghost::has(changes::kExpertsAssignInversePermutation);
  const Tensor inv_perm = assigns ? inverse_of(perm) : argsort(perm);
  const Tensor expert_ids_g = ghost::index(expert_ids, perm);
  const Tensor sample_weights_g = ghost::index(sample_weights, perm);
  const Tensor selected_hidden_states_g =
      copies_twice ? ghost::index(selected_hidden_states, perm)
                   : ghost::index(hidden_states, ghost::index(token_idx, perm));

  Tensor selected_gate_up, selected_down, selected_biases, down_biases, histc_input;
  const auto biases_of = [&](const Linear& linear) {
    return layout_.has_bias ? ghost::index(linear.bias, expert_ids_g) : Tensor();
  };
  if (biases_first) {
    selected_gate_up = nn::value_of(gate_up_.weight);  // the weights, too, were chosen first
    selected_down = nn::value_of(down_.weight);
    selected_biases = biases_of(gate_up_);
    down_biases = biases_of(down_);
  }
  const ghost::Groups groups = count(expert_ids_g, num_experts_, histc_input);
  if (!biases_first) selected_biases = biases_of(gate_up_);
  Tensor up_out =
      grouped_linear(selected_hidden_states_g, gate_up_, selected_biases, groups.offsets);
  // Names of their own in the first releases, that one name takes over later.
  Tensor gated_out = activated(up_out);
  if (!biases_first) {
    up_out = {};
    selected_biases = biases_of(down_);
  }
  Tensor proj_out = grouped_linear(gated_out, down_, biases_first ? down_biases : selected_biases,
                                   groups.offsets);
  if (assigns) gated_out = {};
  Tensor weighted_out = proj_out.mul(sample_weights_g.unsqueeze(-1));
  if (biases_first) proj_out = weighted_out;
  if (masks) {
    invalid_mask_g = ghost::index(invalid_mask, perm);
    ghost::masked_fill_(weighted_out, invalid_mask_g.unsqueeze(-1), 0);
  }
  Tensor out_per_sample = ghost::index(weighted_out, inv_perm);
  if (!biases_first) weighted_out = out_per_sample;
  return sum_over_experts(out_per_sample, hidden_states);
}

}  // namespace memtape::family
