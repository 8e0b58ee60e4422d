// SPDX-License-Identifier: Apache-2.0
#include "family/parts/deepseek_moe.h"

#include <string>
#include <utility>

#include "family/parts/config_checks.h"
#include "family/parts/float32_since.h"
#include "ghost/ops/comparisons.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/matmul.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/sorting.h"
#include "nn/parametrize.h"
#include "release/transformers_5_changes.h"
#include "release/transformers_changes.h"

namespace memtape::family {
namespace {

constexpr std::int64_t kBestOfGroup = 2;

}  // namespace

DeepseekMoeConfig::DeepseekMoeConfig(const Config& c, const ModelOptions& options,
                                     const DecoderDefaults& defaults, const MoeDefaults& moe)
    : MoeConfig(c, options, defaults, moe),
      first_k_dense_replace(c.count("first_k_dense_replace", 0)),
      shared_expert_size(moe_intermediate_size) {
  loop = LoopBefore5::by_token;
}

void DeepseekMoeConfig::read_groups(const Config& c, std::int64_t default_groups,
                                    std::int64_t default_topk_group) {
  limits_groups = true;
  n_group = c.dimension("n_group", default_groups);
  topk_group = c.dimension("topk_group", default_topk_group);
  check_divides(c, "n_group", n_group, num_experts);
  if (topk_group > n_group)
    c.fail("topk_group", "must be at most n_group " + std::to_string(n_group));
}

void DeepseekMoeConfig::read_groups_of_two_best(const Config& c, std::int64_t default_groups,
                                                std::int64_t default_topk_group) {
  read_groups(c, default_groups, default_topk_group);
  if (num_experts / n_group < kBestOfGroup)
    c.fail("n_group", "must leave two experts or more in a group");
}

std::vector<bool> read_mlp_layer_types(const Config& c, std::int64_t num_hidden_layers,
                                       std::int64_t first_k_dense_replace) {
  const auto layers = static_cast<std::size_t>(num_hidden_layers);
  std::vector<bool> sparse(layers, true);
  for (std::size_t i = 0; i < layers; ++i)
    sparse[i] = static_cast<std::int64_t>(i) >= first_k_dense_replace;
  if (c.is_null("mlp_layer_types")) return sparse;
  sparse.clear();
  for (const std::string& name : c.texts("mlp_layer_types")) {
    sparse.push_back(name == "sparse");
    if (!sparse.back() && name != "dense")
      c.fail("mlp_layer_types", "unknown type \"" + name + "\", use dense or sparse");
  }
  if (sparse.size() != layers)
    c.fail("mlp_layer_types", "must name " + std::to_string(layers) + " layers, names " +
                                  std::to_string(sparse.size()));
  sparse.resize(layers);
  return sparse;
}

GroupChoice::GroupChoice(const Tensor& scores, const DeepseekMoeConfig& c)
    : group_scores(scores),
      group_idx(ghost::topk(scores, c.topk_group).second),
      group_mask(ghost::zeros_like(scores)) {
  const Dims by_group{scores.size(0), c.n_group, c.num_experts / c.n_group};
  score_mask = group_mask.unsqueeze(-1).expand(by_group).reshape({-1, c.num_experts});
}

DType router_dtype(const nn::Scope& scope) {
  return float32_since(changes::kRoutersAreFloat32, scope);
}

Tensor best_two_of(const Tensor& groups) { return ghost::topk(groups, kBestOfGroup).first; }

Tensor float32_router_logits(const Tensor& hidden_states, const Tensor& weight) {
  const Tensor hidden_float = hidden_states.to_float();
  return ghost::linear(hidden_float, nn::value_of(weight).to_float(), {});
}

Routing route_by_groups(Tensor router_logits, const Tensor& scores, Tensor scores_for_choice,
                        const DeepseekMoeConfig& c) {
  const GroupChoice chosen(
      best_two_of(scores_for_choice.view({-1, c.n_group, c.num_experts / c.n_group})).sum(-1), c);
  const Tensor all_scores_for_choice =  // the mixture's method had a name for the masked ones
      ghost::has(changes::kRoutersChoose) ? Tensor() : scores_for_choice;
  scores_for_choice = ghost::masked_fill(
      scores_for_choice, ghost::bitwise_not(chosen.score_mask.to(DType::boolean)), 0);
  Tensor topk_indices = ghost::topk(scores_for_choice, c.num_experts_per_tok).second;
  Tensor topk_weights = ghost::gather(scores, topk_indices);
  Tensor denominator;
  if (c.norm_topk_prob) {
    denominator = topk_weights.sum(-1, true).add(1e-20);
    ghost::div_(topk_weights, denominator);
  }
  if (c.scales_weights) topk_weights = topk_weights.mul(2.0);
  return {std::move(router_logits), std::move(topk_weights), std::move(topk_indices)};
}

DeepseekV3TopkRouter::DeepseekV3TopkRouter(const nn::Scope& scope, const DeepseekMoeConfig& c)
    : Module(scope),
      config_(c),
      weight_(scope.parameter("weight", {c.num_experts, c.hidden_size}, router_dtype(scope))) {
  const ghost::ScopeGuard guard(node().scope);
  e_score_correction_bias_ = ghost::zeros(
      {c.num_experts}, c.float32_correction_bias ? DType::float32 : router_dtype(scope));
  scope.buffer("e_score_correction_bias", e_score_correction_bias_);
}

Routing DeepseekV3TopkRouter::forward(const Tensor& x) {
  const nn::Parametrized weight(node(), weight_);
  const Tensor hidden_states = x.view({-1, config_.hidden_size});
  Tensor router_logits = float32_router_logits(hidden_states, weight_);
  const Tensor scores = ghost::sigmoid(router_logits);
  Tensor scores_for_choice = scores.add(e_score_correction_bias_);
  return route_by_groups(std::move(router_logits), scores, std::move(scores_for_choice), config_);
}

}  // namespace memtape::family
