// SPDX-License-Identifier: Apache-2.0
// DeepSeek's blocks of routed experts and shared ones, which all tokens use; the first layers have
// an MLP instead. GLM 4.5 and others inherit them. Mirrors transformers 5.17
// models/deepseek_v3/modeling_deepseek_v3.py and models/glm4_moe/modeling_glm4_moe.py.
#pragma once

#include <vector>

#include "family/parts/experts.h"
#include "family/parts/llama_layer.h"
#include "family/parts/qwen2_moe_block.h"

namespace memtape::family {

struct DeepseekMoeConfig : MoeConfig {
  DeepseekMoeConfig(const Config& c, const ModelOptions& options, const DecoderDefaults& defaults,
                    const MoeDefaults& moe);

  std::int64_t first_k_dense_replace;
  std::int64_t n_shared_experts = 1;
  std::int64_t shared_expert_size;  ///< moe_intermediate_size, but for Dots 3
  std::int64_t n_group = 1,
               topk_group = 1;  ///< experts come in groups, of which a token sees the best
  bool limits_groups = false;
  bool float32_correction_bias = false;  ///< else router_dtype
  bool scales_weights = true;  ///< by routed_scaling_factor; else what the experts give (Beam)

  bool has_experts(std::int64_t layer) const { return layer >= first_k_dense_replace; }
  /// Reads n_group and topk_group.
  void read_groups(const Config& c, std::int64_t default_groups, std::int64_t default_topk_group);
  /// The same for a router whose groups are scored by the sum of their two best experts.
  void read_groups_of_two_best(const Config& c, std::int64_t default_groups,
                               std::int64_t default_topk_group);
};

/// mlp_layer_types: which layers are "sparse", by default all from `first_k_dense_replace` on.
std::vector<bool> read_mlp_layer_types(const Config& c, std::int64_t layers,
                                       std::int64_t first_k_dense_replace);

/// The locals of a router that chooses the `topk_group` best groups by their scores [T, G]. They
/// live until the router returns.
struct GroupChoice {
  GroupChoice(const Tensor& group_scores, const DeepseekMoeConfig& c);
  Tensor group_scores, group_idx, group_mask;
  Tensor score_mask;  ///< which experts [T, E] lie in them
};

/// What the weights and the correction bias of these routers are held in.
DType router_dtype(const nn::Scope& scope);

/// The scores of the two best experts of each group [T, G, E / G].
Tensor best_two_of(const Tensor& groups);

/// router_logits of the routers that compute them in float32.
Tensor float32_router_logits(const Tensor& hidden_states, const Tensor& weight);

/// The end of routers that choose among groups by the sum of their two best experts: picks the
/// experts with the best `scores_for_choice` [T, E] and weights them by their `scores` [T, E].
Routing route_by_groups(Tensor router_logits, const Tensor& scores, Tensor scores_for_choice,
                        const DeepseekMoeConfig& c);

/// Takes sigmoid scores, with a bias that keeps the load even.
class DeepseekV3TopkRouter : public nn::Module<DeepseekV3TopkRouter> {
 public:
  DeepseekV3TopkRouter(const nn::Scope& scope, const DeepseekMoeConfig& c);
  Routing forward(const Tensor& hidden_states);

 private:
  DeepseekMoeConfig config_;
  Tensor weight_, e_score_correction_bias_;
};

/// DeepseekV2Moe and DeepseekV3MoE over the family's router, which is made with (scope, config).
template <class Router>
class DeepseekMoe : public nn::Module<DeepseekMoe<Router>> {
 public:
  DeepseekMoe(const nn::Scope& scope, const DeepseekMoeConfig& c)
      : nn::Module<DeepseekMoe>(scope),
        experts_(scope / "experts", c),
        gate_(scope / "gate", c),
        shared_experts_(scope / "shared_experts",
                        with_intermediate_size(c, c.shared_expert_size * c.n_shared_experts)) {}

  Tensor forward(const Tensor& residuals) {
    const Routing routing = gate_(residuals);
    Tensor hidden_states = residuals.view({-1, residuals.size(-1)});
    hidden_states =
        experts_(hidden_states, routing.indices, routing.weights).view(residuals.sizes());
    hidden_states = hidden_states.add(shared_experts_(residuals));
    return hidden_states;
  }

 private:
  Experts experts_;
  Router gate_;
  LlamaMLP shared_experts_;
};

}  // namespace memtape::family
