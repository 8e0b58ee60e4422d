// SPDX-License-Identifier: Apache-2.0
// ExpertsByIndex: experts that were stacked tensors before transformers 5.0, too. In training a
// loop takes those of each expert that has tokens by an index (GptOssExperts.forward of
// models/gpt_oss/modeling_gpt_oss.py of 4.55 to 4.57, Qwen3VLMoeTextExperts.forward of
// models/qwen3_vl_moe/modeling_qwen3_vl_moe.py of 4.57).
#pragma once

#include "family/parts/experts.h"
#include "family/parts/experts_loop.h"

namespace memtape::family {

/// How the two families' loops differ.
struct ByIndexStyle {
  bool has_bias = false;        ///< GPT-OSS: biases, and gate and up in turns, both clamped
  bool selects = false;         ///< the index is a number, which takes a view; else it copies
  bool skips_one_more = false;  ///< a further expert is counted, and skipped
};

class ExpertsByIndex : public nn::Module<ExpertsByIndex> {
 public:
  ExpertsByIndex(const nn::Scope& scope, const MoeConfig& c, const ByIndexStyle& style);
  /// `routing_weights` has a place for each token and expert (spread_over_experts).
  Tensor forward(const Tensor& hidden_states, const Tensor& router_indices,
                 const Tensor& routing_weights);

 private:
  Tensor of_expert(const Tensor& all, const ExpertsLoop& loop) const;
  Tensor weights_of_tokens(const Tensor& routing_weights, const ExpertsLoop& loop) const;

  ByIndexStyle style_;
  std::int64_t num_experts_, hidden_size_, top_k_;
  ExpertLoad load_;
  nn::Activation act_fn_;
  Tensor gate_up_proj_, gate_up_proj_bias_, down_proj_, down_proj_bias_;
};

/// torch.zeros_like(router_logits).scatter_(1, router_indices, weights)
Tensor spread_over_experts(const Tensor& router_logits, const Tensor& router_indices,
                           const Tensor& weights);

}  // namespace memtape::family
