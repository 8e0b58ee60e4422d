// SPDX-License-Identifier: Apache-2.0
// Tokens in the order of their experts and back, as grouped_mm_experts_forward (integrations/moe.py)
// and fp8_grouped_mm_experts_forward (integrations/finegrained_fp8.py) of transformers begin and
// end.
#pragma once

#include "ghost/tensor.h"

namespace memtape::family {

using ghost::Tensor;

/// The k choices of T tokens, [T * k], and in the order of their experts (`_g`). The members live
/// as long as the names of the upstream function do, in their order.
struct TokensByExpert {
  Tensor sample_weights, expert_ids, expert_ids_g, perm;
  Tensor selected_hidden_states_g, sample_weights_g;
};

/// For hidden states [T, H] and the k experts and weights of each token.
TokensByExpert by_expert(const Tensor& hidden_states, const Tensor& top_k_index,
                         const Tensor& top_k_weights);

/// inv_perm = empty_like(perm); inv_perm[perm] = arange(...)
Tensor inverse_of(const Tensor& perm);

/// The k outputs [T * k, H] of each token added up, in the dtype of the hidden states [T, H].
Tensor sum_over_experts(const Tensor& weighted_out, const Tensor& hidden_states);

}  // namespace memtape::family
