// SPDX-License-Identifier: Apache-2.0
// How Gemma 4 chooses experts for a token: by a norm without a weight, a scale and a projection, with
// a factor for each expert; mirroring transformers 5.17 models/gemma4/modeling_gemma4.py.
#pragma once

#include <utility>

#include "family/parts/gemma4_vision.h"
#include "family/parts/moe_decoder.h"
#include "ghost/autocast.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "ghost/ops/sorting.h"
#include "release/transformers_5_changes.h"

namespace memtape::family {

class Gemma4TextRouter : public nn::Module<Gemma4TextRouter> {
 public:
  Gemma4TextRouter(const nn::Scope& scope, const MoeConfig& c)
      : Module(scope),
        top_k_(c.num_experts_per_tok),
        norm_(scope / "norm", c.hidden_size, false),
        proj_(scope / "proj", c.hidden_size, c.num_experts, false),
        scale_(scope.parameter("scale", {c.hidden_size})),
        per_expert_scale_(scope.parameter("per_expert_scale", {c.num_experts})) {}

  Routing forward(const Tensor& x) {
    Tensor hidden_states = norm_(x);
    hidden_states = hidden_states.mul(scale_).mul(ghost::kScale);
    const Tensor expert_scores = proj_(hidden_states);
    const bool widens = ghost::has(changes::kGemma4RoutesInFloat32);
    Tensor router_probabilities = ghost::softmax(
        expert_scores, widens ? DType::float32 : ghost::reduction_dtype(expert_scores));
    auto [top_k_weights, top_k_index] = ghost::topk(router_probabilities, top_k_);
    ghost::div_(top_k_weights, top_k_weights.sum(-1, true));
    top_k_weights = top_k_weights.mul(ghost::index(per_expert_scale_, top_k_index));
    return {std::move(router_probabilities), std::move(top_k_weights), std::move(top_k_index)};
  }

 private:
  std::int64_t top_k_;
  Gemma4RMSNorm norm_;
  nn::Linear proj_;
  Tensor scale_, per_expert_scale_;
};

}  // namespace memtape::family
