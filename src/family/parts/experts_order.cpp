// SPDX-License-Identifier: Apache-2.0
#include "family/parts/experts_order.h"

#include <tuple>

#include "ghost/ops/creation.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/reductions.h"
#include "ghost/ops/sorting.h"
#include "ghost/ops/unary.h"

namespace memtape::family {

TokensByExpert by_expert(const Tensor& hidden_states, const Tensor& top_k_index,
                         const Tensor& top_k_weights) {
  TokensByExpert t;
  t.sample_weights = top_k_weights.reshape({-1});
  t.expert_ids = top_k_index.reshape({-1});
  std::tie(t.expert_ids_g, t.perm) = ghost::sort(t.expert_ids);
  t.selected_hidden_states_g =
      ghost::index(hidden_states, ghost::floor_divide(t.perm, top_k_index.size(-1)));
  t.sample_weights_g = ghost::index(t.sample_weights, t.perm);
  return t;
}

Tensor inverse_of(const Tensor& perm) {
  Tensor inv_perm = ghost::empty_like(perm, DType::int64);
  const Tensor positions = ghost::arange(perm.size(0), DType::int64);
  return inv_perm;
}

Tensor sum_over_experts(const Tensor& weighted_out, const Tensor& hidden_states) {
  const Tensor final_hidden_states =
      weighted_out.view({hidden_states.size(0), -1, hidden_states.size(-1)}).sum(1);
  return final_hidden_states.to(hidden_states.dtype());
}

}  // namespace memtape::family
