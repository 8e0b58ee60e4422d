// SPDX-License-Identifier: Apache-2.0
// Granite: Llama with numbers that scale the embedding, each branch and the logits; its mixtures
// have experts in place of the MLP, and some a shared one beside them. Mirroring transformers 5.17
// models/granite/modular_granite.py, models/granitemoe/modular_granitemoe.py and
// models/granitemoeshared/modular_granitemoeshared.py.
#include <optional>

#include "family/decoder.h"
#include "family/families.h"
#include "family/llama.h"
#include "family/moe_decoder.h"
#include "ghost/autocast.h"
#include "ghost/ops/matmul.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "ghost/ops/sorting.h"

namespace memtape::family {
namespace {

/// Any number: a product is made even with 1.
constexpr double kMultiplier = 1.0;

class GraniteDecoderLayer : public nn::GradientCheckpointingLayer<GraniteDecoderLayer> {
 public:
  GraniteDecoderLayer(const nn::Scope& scope, const DecoderConfig& c)
      : GradientCheckpointingLayer(scope),
        self_attn_(scope / "self_attn", c),
        mlp_(scope / "mlp", c),
        input_layernorm_(scope / "input_layernorm", c.hidden_size),
        post_attention_layernorm_(scope / "post_attention_layernorm", c.hidden_size) {}

  Tensor forward(const Tensor& x, const Tensor& attention_mask, const CosSin& position_embeddings,
                 const Tensor&) {
    Tensor residual = x;
    Tensor hidden_states = input_layernorm_(x);
    hidden_states = self_attn_(hidden_states, attention_mask, position_embeddings);
    hidden_states = residual.add(hidden_states.mul(kMultiplier));

    residual = hidden_states;
    hidden_states = post_attention_layernorm_(hidden_states);
    hidden_states = mlp_(hidden_states);
    return residual.add(hidden_states.mul(kMultiplier));
  }

 private:
  LlamaAttention self_attn_;
  LlamaMLP mlp_;
  LlamaRMSNorm input_layernorm_, post_attention_layernorm_;
};

struct GraniteParts : DecoderParts {
  using DecoderLayer = GraniteDecoderLayer;
  using Norm = LlamaRMSNorm;
  static void scale_embeddings(Tensor& inputs_embeds, const DecoderConfig&) {
    inputs_embeds = inputs_embeds.mul(kMultiplier);
  }
  static void cap_logits(Tensor& logits, const DecoderConfig&) { logits = logits.div(kMultiplier); }
};

struct GraniteMoeConfig : MoeConfig {
  GraniteMoeConfig(const Config& c, const ModelOptions& options)
      : MoeConfig(c, options, {},
                  {.experts_key = {"num_local_experts", "num_experts"},
                   .num_experts = 8,
                   .num_experts_per_tok = 2,
                   .intermediate_key = "intermediate_size",
                   .intermediate_size = 11008}),
        shared_intermediate_size(c.text("model_type", "") == "granitemoeshared"
                                     ? c.count("shared_intermediate_size", 0)
                                     : 0) {
    qkv_bias = o_bias = c.boolean("attention_bias", false);
  }
  std::int64_t shared_intermediate_size;
};

class GraniteMoeTopKRouter : public nn::Module<GraniteMoeTopKRouter> {
 public:
  GraniteMoeTopKRouter(const nn::Scope& scope, const MoeConfig& c)
      : Module(scope),
        top_k_(c.num_experts_per_tok),
        weight_(scope.parameter("weight", {c.num_experts, c.hidden_size})) {}

  Routing forward(const Tensor& hidden_states) {
    Tensor router_logits = ghost::linear(hidden_states, weight_, {}).to_float();
    const auto [top_k_logits, top_k_index] = ghost::topk(router_logits, top_k_);
    Tensor top_k_weights = ghost::softmax(top_k_logits, ghost::reduction_dtype(top_k_logits))
                               .to(hidden_states.dtype());
    RouterLogits::record(router_logits);
    return {std::move(router_logits), std::move(top_k_weights), top_k_index};
  }

 private:
  std::int64_t top_k_;
  Tensor weight_;
};

class GraniteMoe : public nn::Module<GraniteMoe> {
 public:
  GraniteMoe(const nn::Scope& scope, const MoeConfig& c)
      : Module(scope), router_(scope / "router", c), experts_(scope / "experts", c) {}

  Tensor forward(const Tensor& layer_input) {
    const Tensor hidden_states = layer_input.reshape({-1, layer_input.size(-1)});
    const Routing routing = router_(hidden_states);
    const Tensor layer_output = experts_(hidden_states, routing.indices, routing.weights);
    return layer_output.view(layer_input.sizes());
  }

 private:
  GraniteMoeTopKRouter router_;
  Experts experts_;
};

class GraniteMoeSharedMLP : public nn::Module<GraniteMoeSharedMLP> {
 public:
  GraniteMoeSharedMLP(const nn::Scope& scope, const GraniteMoeConfig& c)
      : Module(scope),
        activation_(c.hidden_act),
        input_linear_(scope / "input_linear", c.hidden_size, 2 * c.shared_intermediate_size, false),
        output_linear_(scope / "output_linear", c.shared_intermediate_size, c.hidden_size, false) {}

  Tensor forward(const Tensor& x) {
    Tensor hidden_states = input_linear_(x);
    const std::vector<Tensor> chunked_hidden_states = hidden_states.chunk(2, -1);
    hidden_states = activation_(chunked_hidden_states[0]).mul(chunked_hidden_states[1]);
    return output_linear_(hidden_states);
  }

 private:
  nn::Activation activation_;
  nn::Linear input_linear_, output_linear_;
};

class GraniteMoeDecoderLayer : public nn::GradientCheckpointingLayer<GraniteMoeDecoderLayer> {
 public:
  GraniteMoeDecoderLayer(const nn::Scope& scope, const GraniteMoeConfig& c)
      : GradientCheckpointingLayer(scope),
        self_attn_(scope / "self_attn", c),
        input_layernorm_(scope / "input_layernorm", c.hidden_size),
        post_attention_layernorm_(scope / "post_attention_layernorm", c.hidden_size),
        block_sparse_moe_(scope / "block_sparse_moe", c) {
    if (c.shared_intermediate_size > 0) shared_mlp_.emplace(scope / "shared_mlp", c);
  }

  Tensor forward(const Tensor& x, const Tensor& attention_mask, const CosSin& position_embeddings,
                 const Tensor&) {
    Tensor residual = x;
    Tensor hidden_states = input_layernorm_(x);
    hidden_states = self_attn_(hidden_states, attention_mask, position_embeddings);
    hidden_states = residual.add(hidden_states.mul(kMultiplier));

    residual = hidden_states;
    hidden_states = post_attention_layernorm_(hidden_states);
    if (shared_mlp_) {
      const Tensor moe_hidden_states = block_sparse_moe_(hidden_states);
      hidden_states = moe_hidden_states.add((*shared_mlp_)(hidden_states));
      return residual.add(hidden_states.mul(kMultiplier));
    }
    hidden_states = block_sparse_moe_(hidden_states);
    return residual.add(hidden_states.mul(kMultiplier));
  }

 private:
  LlamaAttention self_attn_;
  LlamaRMSNorm input_layernorm_, post_attention_layernorm_;
  GraniteMoe block_sparse_moe_;
  std::optional<GraniteMoeSharedMLP> shared_mlp_;
};

struct GraniteMoeParts : MoeParts {
  using Settings = GraniteMoeConfig;
  using DecoderLayer = GraniteMoeDecoderLayer;
  using Norm = LlamaRMSNorm;
  /// Scaled once the masks are made.
  static Tensor enter_layers(Tensor& inputs_embeds, const GraniteMoeConfig&) {
    inputs_embeds = inputs_embeds.mul(kMultiplier);
    return inputs_embeds;
  }
  static void cap_logits(Tensor& logits, const GraniteMoeConfig& c) {
    GraniteParts::cap_logits(logits, c);
  }
};

}  // namespace

ModelPointer build_granite(const Config& c, const ModelOptions& options) {
  DecoderConfig config(c, options, {});
  config.qkv_bias = config.o_bias = c.boolean("attention_bias", false);
  config.mlp_bias = c.boolean("mlp_bias", false);
  return build_checked<DecoderForCausalLM<GraniteParts>>(c, config, options);
}

ModelPointer build_granitemoe(const Config& c, const ModelOptions& options) {
  return build_checked<MoeForCausalLM<GraniteMoeParts>>(c, GraniteMoeConfig(c, options), options);
}

}  // namespace memtape::family
