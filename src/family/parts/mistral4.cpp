// SPDX-License-Identifier: Apache-2.0
#include "family/parts/mistral4.h"

#include <utility>

#include "family/parts/ministral3_attention.h"
#include "ghost/autocast.h"
#include "ghost/ops/matmul.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "nn/parametrize.h"

namespace memtape::family {

Mistral4Config::Mistral4Config(const Config& c, const ModelOptions& options)
    : DeepseekConfig(c, options,
                     {.vocab_size = 131072,
                      .intermediate_size = 12288,
                      .num_hidden_layers = 36,
                      .num_key_value_heads = 32},
                     {.experts_key = {"n_routed_experts", "num_local_experts"},
                      .num_experts = 128,
                      .num_experts_per_tok = 4,
                      .intermediate_size = 2048}) {
  kv_lora_rank = c.dimension("kv_lora_rank", 256);
  qk_nope_head_dim = c.dimension("qk_nope_head_dim", 64);
  if (!c.has("q_lora_rank")) q_lora_rank = 1024;
  norm_topk_prob = c.boolean("norm_topk_prob", true);
  n_shared_experts = c.dimension("n_shared_experts", 1);
  rope_interleave = c.boolean("rope_interleave", true);
  rope =
      rope_parameters(c, qk_head_dim(), "partial_rotary_factor",
                      static_cast<double>(qk_rope_head_dim) / static_cast<double>(qk_head_dim()));
  if (c.is_null("rope_parameters")) rope.rope_type = RopeType::yarn;
  if (!c.is_null("rope_parameters") && !c.object("rope_parameters").has("llama_4_scaling_beta"))
    c.fail("rope_parameters", "llama_4_scaling_beta is missing");
  read_groups_of_two_best(c, 1, 1);
}

Mistral4Attention::Mistral4Attention(const nn::Scope& scope, const DeepseekConfig& c)
    : DeepseekV3Attention(scope, c, scaled_as_llama_4) {}

Mistral4TopkRouter::Mistral4TopkRouter(const nn::Scope& scope, const DeepseekMoeConfig& c)
    : Module(scope),
      config_(c),
      weight_(scope.parameter("weight", {c.num_experts, c.hidden_size})) {}

Routing Mistral4TopkRouter::forward(const Tensor& x) {
  const nn::Parametrized weight(node(), weight_);
  const Tensor hidden_states = x.view({-1, config_.hidden_size});
  Tensor router_logits = ghost::linear(hidden_states, nn::value_of(weight_), {});
  const Tensor scores = ghost::softmax(router_logits, ghost::reduction_dtype(router_logits));
  return route_by_groups(std::move(router_logits), scores, scores, config_);
}

}  // namespace memtape::family
