// SPDX-License-Identifier: Apache-2.0
// LoopedExperts: a mixture's experts as they were before transformers 5.0, a ModuleList of MLPs
// that run one after the other on the tokens that chose them
// (models/{qwen2_moe,olmoe,deepseek_v3}/modeling_*.py of 4.45 to 4.57).
#pragma once

#include <vector>

#include "family/parts/llama_layer.h"

namespace memtape::family {

/// How the loop went.
enum class LoopBefore5 {
  hit,       ///< Mixtral's and Qwen's: since kLoopsOverHitExperts over those that have tokens
  all,       ///< OLMoE's, Phi-MoE's and Jamba's: over every expert
  by_token,  ///< DeepSeek-V3's: over every expert, whose weights are taken before its tokens
  in_slices  ///< DeepSeek-V2's: over slices of the tokens, sorted by their experts
};

class LoopedExperts {
 public:
  LoopedExperts(const nn::Scope& scope, std::int64_t experts, const DecoderConfig& expert,
                LoopBefore5 loop);
  /// `tokens_by_expert` says how many tokens [T, H] chose each expert.
  Tensor operator()(const Tensor& hidden_states, const Tensor& top_k_index,
                    const Tensor& top_k_weights, std::vector<std::int64_t> tokens_by_expert);

 private:
  Tensor run_slices(const Tensor& hidden_states, const Tensor& topk_ids, const Tensor& topk_weight,
                    const std::vector<std::int64_t>& tokens_by_expert);

  LoopBefore5 loop_;
  nn::ModuleList<LlamaMLP> experts_;
};

}  // namespace memtape::family
