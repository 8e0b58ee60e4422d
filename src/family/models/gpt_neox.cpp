// SPDX-License-Identifier: Apache-2.0
// GPT-NeoX (Pythia): attention and MLP side by side on the same input, one projection for q, k and
// v, rotation of a quarter of each head; mirroring transformers 5.17
// models/gpt_neox/modeling_gpt_neox.py.
#include <optional>
#include <tuple>

#include "family/caches/key_value_cache.h"
#include "family/facts.h"
#include "family/masks/masking.h"
#include "family/parts/activations.h"
#include "family/parts/attention_interface.h"
#include "family/parts/config_checks.h"
#include "family/parts/forward_arguments.h"
#include "family/parts/rope.h"
#include "family/parts/transformer_for_causal_lm.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/dropout.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/matmul.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "ghost/ops/triangular.h"
#include "nn/checkpointing.h"
#include "nn/layer_stack.h"
#include "nn/layers.h"
#include "release/transformers_4_changes.h"

namespace memtape::family {
namespace {

struct GPTNeoXConfig {
  GPTNeoXConfig(const Config& c, const ModelOptions& options)
      : vocab_size(c.dimension("vocab_size", 50432)),
        hidden_size(c.dimension("hidden_size", 6144)),
        num_hidden_layers(c.layers("num_hidden_layers", 44)),
        num_attention_heads(c.dimension("num_attention_heads", 64)),
        intermediate_size(c.dimension("intermediate_size", 24576)),
        head_size(hidden_size / num_attention_heads),
        max_position_embeddings(c.dimension("max_position_embeddings", 2048)),
        hidden_act(activation(c, "hidden_act", "gelu")),
        attention_dropout(c.number("attention_dropout", 0.0)),
        hidden_dropout(c.number("hidden_dropout", 0.0)),
        use_parallel_residual(c.boolean("use_parallel_residual", true)),
        attention_bias(c.boolean("attention_bias", true)),
        tie_word_embeddings(c.boolean("tie_word_embeddings", false)),
        rope(rope_parameters(c, head_size, "rotary_pct", 0.25)),
        attention(options.attention) {
    check_divides(c, "num_attention_heads", num_attention_heads, hidden_size);
  }

  std::int64_t vocab_size, hidden_size, num_hidden_layers, num_attention_heads, intermediate_size,
      head_size, max_position_embeddings;
  nn::Activation hidden_act;
  double attention_dropout, hidden_dropout;
  bool use_parallel_residual, attention_bias, tie_word_embeddings;
  RopeParameters rope;
  AttentionImplementation attention;
};

class GPTNeoXMLP : public nn::Module<GPTNeoXMLP> {
 public:
  GPTNeoXMLP(const nn::Scope& scope, const GPTNeoXConfig& c)
      : Module(scope),
        dense_h_to_4h_(scope / "dense_h_to_4h", c.hidden_size, c.intermediate_size),
        dense_4h_to_h_(scope / "dense_4h_to_h", c.intermediate_size, c.hidden_size),
        act_(c.hidden_act) {}

  Tensor forward(const Tensor& x) {
    Tensor hidden_states = dense_h_to_4h_(x);
    hidden_states = act_(hidden_states);
    hidden_states = dense_4h_to_h_(hidden_states);
    return hidden_states;
  }

 private:
  nn::Linear dense_h_to_4h_, dense_4h_to_h_;
  nn::Activation act_;
};

constexpr double kNormFactor =
    0.5;  // 1 / sqrt(head_size): not 1, so that its gradient is a product

/// What each attention held before it went through the interface.
struct GPTNeoXAttentionBuffers {
  GPTNeoXAttentionBuffers(const nn::Scope& scope, const GPTNeoXConfig& c) {
    if (ghost::has(changes::kGptNeoXHasNoBias)) return;
    const std::int64_t most = c.max_position_embeddings;
    bias = ghost::tril(ghost::ones({most, most}, DType::boolean));
    scope.buffer("bias", bias);
    masked_bias = ghost::zeros({}, scope.dtype());
    scope.buffer("masked_bias", masked_bias);
    rotary_emb.emplace(scope / "rotary_emb", c.rope);
  }
  Tensor bias, masked_bias;
  std::optional<RotaryEmbedding> rotary_emb;
};

/// The eager attention that it had before it went through the interface: scores are added to zeros,
/// and before kGptNeoXPacksValues masked by the triangle `bias` first. What it returns of the
/// weights lives as long as attention runs.
std::pair<Tensor, Tensor> eager_over_zeros(const AttentionCall& call, const Tensor& q,
                                           const Tensor& k, const Tensor& value,
                                           const Tensor& attention_mask, const Tensor& bias) {
  const std::int64_t rows = q.size(0) * q.size(1), queries = q.size(2), keys = k.size(2);
  const Tensor query = q.view({rows, queries, q.size(3)});
  const Tensor key = k.view({rows, keys, k.size(3)});
  Tensor attn_scores = ghost::zeros({rows, queries, keys}, query.dtype());
  attn_scores = ghost::baddbmm(attn_scores, query, key.transpose(1, 2), kNormFactor);
  attn_scores = attn_scores.view({q.size(0), q.size(1), queries, keys});
  Tensor mask_value;
  if (!ghost::has(changes::kGptNeoXPacksValues)) {
    mask_value = ghost::zeros({}, attn_scores.dtype());
    attn_scores = ghost::where(bias.slice(0, keys - queries, keys).slice(1, 0, keys), attn_scores,
                               mask_value);
  }
  if (attention_mask.defined()) attn_scores = attn_scores.add(attention_mask);
  Tensor attn_weights = ghost::softmax(attn_scores, ghost::reduction_dtype(attn_scores));
  attn_weights = attn_weights.to(value.dtype());
  attn_weights = ghost::dropout(attn_weights, call.dropout);
  Tensor attn_output = attn_weights.matmul(value).transpose(1, 2).contiguous();
  return {std::move(attn_output), std::move(attn_weights)};
}

class GPTNeoXAttention : public nn::Module<GPTNeoXAttention> {
 public:
  GPTNeoXAttention(const nn::Scope& scope, const GPTNeoXConfig& c)
      : Module(scope),
        call_{.implementation = c.attention,
              .dropout = c.attention_dropout,
              .interface_since = &changes::kGptNeoXHasNoBias},
        head_size_(c.head_size),
        before_(scope, c),
        query_key_value_(scope / "query_key_value", c.hidden_size, 3 * c.hidden_size,
                         c.attention_bias),
        dense_(scope / "dense", c.hidden_size, c.hidden_size, c.attention_bias) {}

  Tensor forward(const Tensor& hidden_states, const Tensor& attention_mask,
                 const CosSin& position_embeddings) {
    const Dims input_shape = hidden_states.sizes().leading();
    const Dims hidden_shape = input_shape.with(-1).with(3 * head_size_);
    const Tensor qkv = query_key_value_(hidden_states).view(hidden_shape).transpose(1, 2);
    std::vector<Tensor> states = qkv.chunk(3, -1);
    Tensor value_states = std::move(states[2]);
    Tensor key_states = std::move(states[1]);
    Tensor query_states = std::move(states[0]);
    std::tie(query_states, key_states) =
        apply_rotary_pos_emb_to_part(query_states, key_states, position_embeddings);
    KeyValueCache::update(key_states, value_states);
    if (packs_values()) value_states = value_states.contiguous();
    Tensor attn_output, attn_weights;
    if (call_.implementation == AttentionImplementation::eager &&
        !ghost::has(changes::kGptNeoXHasNoBias))
      std::tie(attn_output, attn_weights) = eager_over_zeros(
          call_, query_states, key_states, value_states, attention_mask, before_.bias);
    else
      attn_output =
          attention_interface(call_, query_states, key_states, value_states, attention_mask);
    attn_output = attn_output.reshape(input_shape.with(-1)).contiguous();
    attn_output = dense_(attn_output);
    return attn_output;
  }

 private:
  /// Its own sdpa_attention_forward, between GPTNeoXSdpaAttention and the interface.
  bool packs_values() const {
    return call_.implementation == AttentionImplementation::sdpa &&
           ghost::has(changes::kGptNeoXPacksValues) && !ghost::has(changes::kGptNeoXHasNoBias);
  }

  AttentionCall call_;
  std::int64_t head_size_;
  GPTNeoXAttentionBuffers before_;
  nn::Linear query_key_value_, dense_;
};

class GPTNeoXLayer : public nn::GradientCheckpointingLayer<GPTNeoXLayer> {
 public:
  GPTNeoXLayer(const nn::Scope& scope, const GPTNeoXConfig& c)
      : GradientCheckpointingLayer(scope),
        use_parallel_residual_(c.use_parallel_residual),
        input_layernorm_(scope / "input_layernorm", c.hidden_size),
        post_attention_layernorm_(scope / "post_attention_layernorm", c.hidden_size),
        post_attention_dropout_(scope / "post_attention_dropout", c.hidden_dropout),
        post_mlp_dropout_(scope / "post_mlp_dropout", c.hidden_dropout),
        attention_(scope / "attention", c),
        mlp_(scope / "mlp", c) {}

  Tensor forward(const Tensor& hidden_states, const Tensor& attention_mask, const Tensor&,
                 const CosSin& position_embeddings) {
    Tensor attn_output =
        attention_(input_layernorm_(hidden_states), attention_mask, position_embeddings);
    attn_output = post_attention_dropout_(attn_output);
    if (use_parallel_residual_) {
      Tensor mlp_output = mlp_(post_attention_layernorm_(hidden_states));
      mlp_output = post_mlp_dropout_(mlp_output);
      return mlp_output.add(attn_output).add(hidden_states);
    }
    attn_output = attn_output.add(hidden_states);
    Tensor mlp_output = mlp_(post_attention_layernorm_(attn_output));
    mlp_output = post_mlp_dropout_(mlp_output);
    return mlp_output.add(attn_output);
  }

 private:
  bool use_parallel_residual_;
  nn::LayerNorm input_layernorm_, post_attention_layernorm_;
  nn::Dropout post_attention_dropout_, post_mlp_dropout_;
  GPTNeoXAttention attention_;
  GPTNeoXMLP mlp_;
};

class GPTNeoXModel : public nn::Module<GPTNeoXModel> {
 public:
  GPTNeoXModel(const nn::Scope& scope, const GPTNeoXConfig& c)
      : Module(scope),
        embed_in(scope / "embed_in", c.vocab_size, c.hidden_size),
        attention_(c.attention),
        emb_dropout_(scope / "emb_dropout", c.hidden_dropout),
        layers_(scope / "layers", c.num_hidden_layers, c),
        final_layer_norm_(scope / "final_layer_norm", c.hidden_size),
        rotary_emb_(scope / "rotary_emb", c.rope) {
    rotary_emb_.init_weights();
  }

  Tensor forward(const Tensor& input_ids, const Tensor& attention_mask) {
    const Tensor inputs_embeds = embed_in(input_ids);
    const Tensor position_ids = position_ids_for(inputs_embeds);
    const Tensor causal_mask = create_causal_mask(
        {.attention = attention_, .attention_mask = attention_mask}, inputs_embeds, position_ids);
    Tensor hidden_states = emb_dropout_(inputs_embeds);
    const CosSin position_embeddings = rotary_emb_(hidden_states, position_ids);
    hidden_states =
        nn::run_layers(layers_, std::move(hidden_states), 1,
                       [&](GPTNeoXLayer& layer, std::size_t, const Tensor& x) {
                         return layer(x, causal_mask, position_ids, position_embeddings);
                       });
    return final_layer_norm_(hidden_states);
  }

  const nn::Embedding& get_input_embeddings() const { return embed_in; }

  static constexpr const char* kAttribute = "gpt_neox";
  static constexpr TokenHead kTokenHead{.name = "classifier"};
  nn::Embedding embed_in;

 private:
  AttentionImplementation attention_;
  nn::Dropout emb_dropout_;
  nn::ModuleList<GPTNeoXLayer> layers_;
  nn::LayerNorm final_layer_norm_;
  RotaryEmbedding rotary_emb_;
};

ModelPointer build_gpt_neox(const Config& c, const ModelOptions& options) {
  return build_checked<TransformerForCausalLM<GPTNeoXModel>>(c, GPTNeoXConfig(c, options), options);
}

}  // namespace

extern const FamilyFacts kGptNeox{
    .model_type = "gpt_neox",
    .ties_head = Known::no,
    .has_bos = Known::yes,
    .modeling = kDecoder,
    .module_rates = {"hidden_dropout"},
    .classifiers = {.sequences = true, .tokens = true, .answers = true, .classifier_dropout = 0.1},
    .build = build_gpt_neox};

}  // namespace memtape::family
