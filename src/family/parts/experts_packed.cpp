// SPDX-License-Identifier: Apache-2.0
// Experts whose weights stay as a checkpoint stores them, which kernels of the hub multiply by: in
// float8 or FP4 (transformers 5.17, integrations/finegrained_fp8.py: fp8_grouped_mm_experts_forward
// for a prompt, fp8_batched_mm_experts_forward for decoding) and in MXFP4 (integrations/mxfp4.py,
// Mxfp4GptOssExperts.forward, whose kernel gathers, multiplies and applies the gate at once). No
// weight is copied or unpacked.
#include <utility>

#include "family/parts/experts.h"
#include "family/parts/experts_order.h"
#include "family/parts/forward_arguments.h"
#include "ghost/autograd/node.h"
#include "ghost/ops/comparisons.h"
#include "ghost/ops/copies.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/grouped_mm.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/pointwise.h"

namespace memtape::family {
namespace {

/// One product a row with the weight [experts, out, in] of its expert.
Tensor product(const Tensor& rows, const Tensor& weight) {
  const ghost::Op op("packed_experts", {});
  return ghost::empty({rows.size(0), weight.size(1)}, rows.dtype());
}

}  // namespace

bool Experts::are_packed() const { return bits(gate_up_.weight.dtype()) == 8; }

Tensor Experts::packed_forward(const Tensor& hidden_states, const Tensor& top_k_index,
                               const Tensor& top_k_weights) {
  if (layout_.has_bias) return microscaled_forward(hidden_states, top_k_index);
  return is_decoding() ? packed_batched_forward(hidden_states, top_k_index, top_k_weights)
                       : packed_grouped_forward(hidden_states, top_k_index, top_k_weights);
}

Tensor Experts::packed_batched_forward(const Tensor& hidden_states, const Tensor& top_k_index,
                                       const Tensor& top_k_weights) {
  const std::int64_t num_top_k = top_k_index.size(-1);
  const Tensor selected_hidden_states = ghost::repeat_interleave(hidden_states, num_top_k, 0);
  const Tensor sample_weights = top_k_weights.reshape({-1});
  const Tensor expert_ids = top_k_index.reshape({-1});
  const Tensor sentinel_mask = ghost::ge(expert_ids, num_experts_).unsqueeze(-1);
  Tensor proj_out = product(selected_hidden_states, gate_up_.weight);
  proj_out = activated(proj_out);
  proj_out = product(proj_out, down_.weight);
  const Tensor weighted_out = proj_out.mul(sample_weights.to(proj_out.dtype()).unsqueeze(-1));
  ghost::masked_fill_(weighted_out, sentinel_mask, 0);
  return sum_over_experts(weighted_out, hidden_states);
}

Tensor Experts::packed_grouped_forward(const Tensor& hidden_states, const Tensor& top_k_index,
                                       const Tensor& top_k_weights) {
  const TokensByExpert tokens = by_expert(hidden_states, top_k_index, top_k_weights);
  const Tensor histc_input = tokens.expert_ids_g.to(DType::int32);
  const ghost::Groups groups = ghost::count_groups(histc_input, num_experts_);
  const Tensor sentinel_mask = ghost::ge(tokens.expert_ids_g, num_experts_).unsqueeze(-1);
  Tensor proj_out = product(tokens.selected_hidden_states_g, gate_up_.weight);
  proj_out = activated(proj_out);
  proj_out = product(proj_out, down_.weight);
  Tensor weighted_out = proj_out.mul(tokens.sample_weights_g.to(proj_out.dtype()).unsqueeze(-1));
  ghost::masked_fill_(weighted_out, sentinel_mask, 0);
  const Tensor inv_perm = inverse_of(tokens.perm);
  weighted_out = ghost::index(weighted_out, inv_perm);
  return sum_over_experts(weighted_out, hidden_states);
}

/// matmul_ogs twice: the gate halves the columns of the first, the second scatters its rows before
/// they are added up.
Tensor Experts::microscaled_forward(const Tensor& hidden_states, const Tensor& top_k_index) {
  const std::int64_t rows = top_k_index.numel();
  const Tensor bias = gate_up_.bias.to(DType::float32);
  const Tensor intermediate_cache1 =
      ghost::empty({rows, gate_up_.weight.size(1) / 2}, hidden_states.dtype());
  const Tensor down_bias = down_.bias.to(DType::float32);
  const Tensor scattered = product(intermediate_cache1, down_.weight);
  return ghost::empty(hidden_states.sizes(), hidden_states.dtype());
}

}  // namespace memtape::family
