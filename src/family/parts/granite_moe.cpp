// SPDX-License-Identifier: Apache-2.0
#include "family/parts/granite_moe.h"

#include <utility>

#include "ghost/autocast.h"
#include "ghost/ops/matmul.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "ghost/ops/sorting.h"
#include "model/type_of.h"

namespace memtape::family {
namespace {

/// A hybrid may say that it has none: then nothing reads how many there are.
bool says_no_experts(const Config& c) {
  return type_of(c) == "granitemoehybrid" && c.count("num_local_experts", 8) == 0;
}

MoeDefaults moe_defaults(const Config& c) {
  MoeDefaults defaults{.experts_key = {"num_local_experts", "num_experts"},
                       .num_experts = 8,
                       .num_experts_per_tok = 2,
                       .intermediate_key = "intermediate_size",
                       .intermediate_size = 11008};
  if (says_no_experts(c)) defaults.experts_key = defaults.experts_per_tok_key = "experts of none";
  return defaults;
}

std::int64_t shared_size(const Config& c) {
  const std::string type = type_of(c);
  if (type == "granitemoehybrid") return c.dimension("shared_intermediate_size", 1024);
  return type == "granitemoeshared" ? c.count("shared_intermediate_size", 0) : 0;
}

}  // namespace

GraniteMoeConfig::GraniteMoeConfig(const Config& c, const ModelOptions& options)
    : MoeConfig(c, options, {}, moe_defaults(c)),
      shared_intermediate_size(shared_size(c)),
      has_experts(!says_no_experts(c)) {
  qkv_bias = o_bias = c.boolean("attention_bias", false);
}

GraniteMoeTopKRouter::GraniteMoeTopKRouter(const nn::Scope& scope, const MoeConfig& c)
    : Module(scope),
      top_k_(c.num_experts_per_tok),
      weight_(scope.parameter("weight", {c.num_experts, c.hidden_size})) {}

Routing GraniteMoeTopKRouter::forward(const Tensor& hidden_states) {
  Tensor router_logits = ghost::linear(hidden_states, weight_, {}).to_float();
  const auto [top_k_logits, top_k_index] = ghost::topk(router_logits, top_k_);
  Tensor top_k_weights =
      ghost::softmax(top_k_logits, ghost::reduction_dtype(top_k_logits)).to(hidden_states.dtype());
  RouterLogits::record(router_logits);
  return {std::move(router_logits), std::move(top_k_weights), top_k_index};
}

GraniteMoe::GraniteMoe(const nn::Scope& scope, const MoeConfig& c)
    : Module(scope), router_(scope / "router", c), experts_(scope / "experts", c) {}

Tensor GraniteMoe::forward(const Tensor& layer_input) {
  const Tensor hidden_states = layer_input.reshape({-1, layer_input.size(-1)});
  const Routing routing = router_(hidden_states);
  const Tensor layer_output = experts_(hidden_states, routing.indices, routing.weights);
  return layer_output.view(layer_input.sizes());
}

GraniteMoeSharedMLP::GraniteMoeSharedMLP(const nn::Scope& scope, const GraniteMoeConfig& c)
    : Module(scope),
      activation_(c.hidden_act),
      input_linear_(scope / "input_linear", c.hidden_size, 2 * c.shared_intermediate_size, false),
      output_linear_(scope / "output_linear", c.shared_intermediate_size, c.hidden_size, false) {}

Tensor GraniteMoeSharedMLP::forward(const Tensor& x) {
  Tensor hidden_states = input_linear_(x);
  const std::vector<Tensor> chunked_hidden_states = hidden_states.chunk(2, -1);
  hidden_states = activation_(chunked_hidden_states[0]).mul(chunked_hidden_states[1]);
  return output_linear_(hidden_states);
}

}  // namespace memtape::family
