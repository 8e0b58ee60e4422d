// SPDX-License-Identifier: Apache-2.0
// Falcon: one key and value head, or a few, attention and MLP side by side in most sizes, rotation
// or ALiBi, and products whose bias is added afterwards; mirroring transformers 5.17
// models/falcon/modeling_falcon.py.
#include <memory>
#include <optional>
#include <tuple>

#include "family/caches/key_value_cache.h"
#include "family/facts.h"
#include "family/masks/masking.h"
#include "family/parts/activations.h"
#include "family/parts/alibi.h"
#include "family/parts/config_checks.h"
#include "family/parts/forward_arguments.h"
#include "family/parts/rope.h"
#include "family/parts/transformer_for_causal_lm.h"
#include "ghost/ops/attention.h"
#include "ghost/ops/comparisons.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/dropout.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/matmul.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "ghost/ops/views.h"
#include "nn/checkpointing.h"
#include "nn/layers.h"
#include "release/transformers_4_changes.h"
#include "release/transformers_5_changes.h"

namespace memtape::family {
namespace {

struct FalconConfig {
  FalconConfig(const Config& c, const ModelOptions& options)
      : vocab_size(c.dimension("vocab_size", 65024)),
        hidden_size(c.optional_dimension("n_embed").value_or(c.dimension("hidden_size", 4544))),
        num_hidden_layers(c.layers("num_hidden_layers", 32)),
        num_attention_heads(c.dimension("num_attention_heads", 71)),
        num_kv_heads(c.optional_dimension("num_kv_heads").value_or(num_attention_heads)),
        ffn_hidden_size(c.optional_dimension("ffn_hidden_size").value_or(4 * hidden_size)),
        head_dim(hidden_size / num_attention_heads),
        alibi(c.boolean("alibi", false)),
        new_decoder_architecture(c.boolean("new_decoder_architecture", false)),
        multi_query(c.boolean("multi_query", true)),
        parallel_attn(c.boolean("parallel_attn", true)),
        bias(c.boolean("bias", false)),
        tie_word_embeddings(c.boolean("tie_word_embeddings", true)),
        hidden_dropout(c.number("hidden_dropout", 0.0)),
        attention_dropout(c.number("attention_dropout", 0.0)),
        activation_function(activation(c, "activation", "gelu")),
        rope(rope_parameters(c, head_dim)),
        attention(options.attention) {
    check_divides(c, "num_attention_heads", num_attention_heads, hidden_size);
    if (new_decoder_architecture)
      check_divides(c, "num_kv_heads", num_kv_heads, num_attention_heads);
    if (new_decoder_architecture && !parallel_attn)
      c.fail("parallel_attn", "must be true with new_decoder_architecture");
    const std::int64_t most = new_decoder_architecture ? 2 : 1;
    const std::int64_t norms = c.optional_dimension("num_ln_in_parallel_attn").value_or(most);
    if (norms > most)
      c.fail("num_ln_in_parallel_attn", "must be 1, or 2 with new_decoder_architecture");
    two_norms = norms == 2;
  }

  std::int64_t vocab_size, hidden_size, num_hidden_layers, num_attention_heads, num_kv_heads,
      ffn_hidden_size, head_dim;
  bool alibi, new_decoder_architecture, multi_query, parallel_attn, bias, tie_word_embeddings;
  bool two_norms = false;  ///< attention and MLP have a norm each
  double hidden_dropout, attention_dropout;
  nn::Activation activation_function;
  RopeParameters rope;
  AttentionImplementation attention;

  std::int64_t qkv_out_dim() const {
    if (new_decoder_architecture) return (num_kv_heads * 2 + num_attention_heads) * head_dim;
    return multi_query ? hidden_size + 2 * head_dim : 3 * hidden_size;
  }
};

/// A Linear that adds its bias as an op of its own.
class FalconLinear final : public nn::Projection {
 public:
  FalconLinear(const nn::Scope& scope, std::int64_t in, std::int64_t out, bool has_bias)
      : Projection(scope, in, out, scope.parameter("weight", {out, in})) {
    if (has_bias) bias = scope.parameter("bias", {out});
  }
  Tensor base_forward(const Tensor& input) override {
    const Tensor hidden_states = input.matmul(weight.t());
    return bias.defined() ? hidden_states.add(bias) : hidden_states;
  }
};

/// What a layer or its attention gives; the model's loop holds the weights until the next layer is
/// done.
struct FalconOutput {
  Tensor hidden_states, attn_weights;
};

struct FalconHeads {
  Tensor query, key, value;
};

class FalconAttention : public nn::Module<FalconAttention> {
 public:
  FalconAttention(const nn::Scope& scope, const FalconConfig& c)
      : Module(scope),
        config_(c),
        query_key_value_(scope / "query_key_value", c.hidden_size, c.qkv_out_dim(), c.bias),
        dense_(scope / "dense", c.hidden_size, c.hidden_size, c.bias),
        attention_dropout_(scope / "attention_dropout", c.attention_dropout) {
    if (!c.alibi && !ghost::has(changes::kFalconSharesItsRope))
      rotary_emb_.emplace(scope / "rotary_emb", c.rope);
  }

  FalconOutput forward(const Tensor& hidden_states, const Tensor& alibi,
                       const Tensor& attention_mask, const CosSin& position_embeddings) {
    const Tensor fused_qkv = query_key_value_(hidden_states);
    FalconHeads heads = split_heads(fused_qkv);
    heads.query = by_head(heads.query);
    heads.key = by_head(heads.key);
    heads.value = by_head(heads.value);
    if (alibi.defined())
      return config_.attention == AttentionImplementation::eager
                 ? eager_with_alibi(heads, alibi, attention_mask, hidden_states.dtype())
                 : sdpa_with_alibi(heads, attention_mask);
    std::tie(heads.query, heads.key) =
        apply_rotary_pos_emb(heads.query, heads.key, position_embeddings);
    KeyValueCache::update(heads.key, heads.value);
    return config_.attention == AttentionImplementation::eager
               ? eager(heads, attention_mask, hidden_states.dtype())
               : sdpa(heads, attention_mask);
  }

 private:
  /// [batch, length, heads, head_dim] each.
  FalconHeads split_heads(const Tensor& fused) const {
    const std::int64_t batch = fused.size(0), length = fused.size(1), dim = config_.head_dim;
    if (config_.new_decoder_architecture) {
      const Tensor qkv = fused.view(
          {batch, length, -1, config_.num_attention_heads / config_.num_kv_heads + 2, dim});
      Tensor query = ghost::indexed_by_colons(qkv, 3).slice(3, 0, -2);
      Tensor key = ghost::index_one(ghost::indexed_by_colons(qkv, 3), 3);
      Tensor value = ghost::index_one(ghost::indexed_by_colons(qkv, 3), 3);
      key = key.expand(query.sizes());
      value = value.expand(query.sizes());
      const Dims flat{batch, length, config_.num_attention_heads, dim};
      FalconHeads heads;  // a list of the three, made before the names are bound to it
      heads.query = query.reshape(flat);
      heads.key = key.reshape(flat);
      heads.value = value.reshape(flat);
      return heads;
    }
    if (!config_.multi_query) {
      const Tensor qkv = fused.view({batch, length, config_.num_attention_heads, 3, dim});
      const auto part = [&qkv](std::int64_t i) {
        return ghost::indexed_by_colons(qkv.select(3, i), 1);
      };
      return {part(0), part(1), part(2)};
    }
    const Tensor qkv = fused.view({batch, length, config_.num_attention_heads + 2, dim});
    Tensor query = ghost::indexed_by_colons(qkv.slice(2, 0, -2), 1);
    Tensor key = ghost::index_one(ghost::indexed_by_colons(qkv, 1), 2);
    return {std::move(query), std::move(key),
            ghost::index_one(ghost::indexed_by_colons(qkv, 1), 2)};
  }

  /// x.transpose(1, 2).reshape(batch, heads, length, head_dim)
  static Tensor by_head(const Tensor& x) {
    return x.transpose(1, 2).reshape({x.size(0), x.size(2), x.size(1), x.size(3)});
  }

  /// [batch, heads, length, head_dim] to [batch, length, hidden].
  Tensor merged(const Tensor& x) const {
    return x.permute({0, 2, 1, 3}).reshape({x.size(0), x.size(2), config_.hidden_size});
  }

  static FalconOutput returned(Tensor attn_output, const Tensor& weights) {
    return {std::move(attn_output), ghost::has(changes::kBlocksReturnWeights) ? weights : Tensor()};
  }

  FalconOutput sdpa(const FalconHeads& h, const Tensor& attention_mask) {
    const bool is_causal = !attention_mask.defined() && h.query.size(2) > 1;
    Tensor attn_output = ghost::scaled_dot_product_attention(
        h.query, h.key, h.value, attention_mask, {.is_causal = is_causal});
    attn_output = attn_output.view(h.query.sizes()).permute({0, 2, 1, 3});
    attn_output = attn_output.reshape({h.query.size(0), h.query.size(2), config_.hidden_size});
    return {dense_(attn_output), {}};
  }

  FalconOutput eager(const FalconHeads& h, const Tensor& attention_mask, DType dtype) {
    Tensor attention_scores = h.query.matmul(h.key.transpose(-1, -2));
    ghost::div_(attention_scores, 2.0);
    attention_scores = ghost::softmax(attention_scores.add(attention_mask), dtype);
    Tensor attn_output = attention_scores.matmul(h.value);
    attn_output = merged(attn_output);
    attn_output = dense_(attn_output);
    return returned(std::move(attn_output), attention_scores);
  }

  FalconOutput sdpa_with_alibi(const FalconHeads& h, const Tensor& attention_mask) {
    const bool is_causal = !attention_mask.defined() && h.query.size(2) > 1;
    Tensor attn_output = ghost::scaled_dot_product_attention(
        h.query, h.key, h.value, attention_mask,
        {.dropout = config_.attention_dropout, .is_causal = is_causal});
    attn_output = attn_output.transpose(1, 2);
    attn_output = attn_output.reshape({h.query.size(0), h.query.size(2), config_.hidden_size});
    return {dense_(attn_output), {}};
  }

  FalconOutput eager_with_alibi(const FalconHeads& h, const Tensor& alibi,
                                const Tensor& attention_mask, DType dtype) {
    const Tensor matmul_result = h.query.matmul(h.key.transpose(-1, -2));
    Tensor attention_scores = matmul_result.view(matmul_result.sizes());
    if (attention_scores.dtype() == DType::float16 || attention_scores.dtype() == DType::bfloat16)
      attention_scores = attention_scores.to_float();
    const Tensor attention_logits = attention_scores.add(alibi);
    ghost::mul_(attention_logits, 2.0);
    Tensor attention_probs = ghost::softmax(attention_logits.add(attention_mask), dtype);
    attention_probs = attention_dropout_(attention_probs);
    Tensor attn_output = attention_probs.matmul(h.value);
    attn_output = merged(attn_output);
    attn_output = dense_(attn_output);
    return returned(std::move(attn_output), attention_probs);
  }

  FalconConfig config_;
  FalconLinear query_key_value_, dense_;
  nn::Dropout attention_dropout_;
  std::optional<RotaryEmbedding> rotary_emb_;  ///< each had one that no one called
};

class FalconMLP : public nn::Module<FalconMLP> {
 public:
  FalconMLP(const nn::Scope& scope, const FalconConfig& c)
      : Module(scope),
        dense_h_to_4h_(scope / "dense_h_to_4h", c.hidden_size, c.ffn_hidden_size, c.bias),
        act_(c.activation_function),
        dense_4h_to_h_(scope / "dense_4h_to_h", c.ffn_hidden_size, c.hidden_size, c.bias) {}

  Tensor forward(const Tensor& hidden_states) {
    const Tensor x = act_(dense_h_to_4h_(hidden_states));
    return dense_4h_to_h_(x);
  }

 private:
  FalconLinear dense_h_to_4h_;
  nn::Activation act_;
  FalconLinear dense_4h_to_h_;
};

Tensor falcon_dropout_add(const Tensor& x, const Tensor& residual, double prob) {
  const Tensor out = ghost::dropout(x, prob);
  return residual.add(out);
}

class FalconDecoderLayer : public nn::GradientCheckpointingLayer<FalconDecoderLayer> {
 public:
  FalconDecoderLayer(const nn::Scope& scope, const FalconConfig& c)
      : GradientCheckpointingLayer(scope),
        config_(c),
        self_attention_(scope / "self_attention", c),
        mlp_(scope / "mlp", c) {
    const auto norm = [&](const char* name) {
      return std::make_unique<nn::LayerNorm>(scope / name, c.hidden_size);
    };
    if (c.two_norms) {
      attention_norm_ = norm("ln_attn");
      mlp_norm_ = norm("ln_mlp");
      return;
    }
    if (!c.parallel_attn) mlp_norm_ = norm("post_attention_layernorm");
    attention_norm_ = norm("input_layernorm");
  }

  FalconOutput forward(const Tensor& hidden_states, const Tensor& alibi,
                       const Tensor& attention_mask, const Tensor&,
                       const CosSin& position_embeddings) {
    Tensor residual = hidden_states;
    const Tensor attention_layernorm_out = (*attention_norm_)(hidden_states);
    Tensor mlp_layernorm_out = attention_layernorm_out;
    if (config_.two_norms) mlp_layernorm_out = (*mlp_norm_)(hidden_states);
    const FalconOutput attention =
        self_attention_(attention_layernorm_out, alibi, attention_mask, position_embeddings);
    if (!config_.parallel_attn) {
      residual = falcon_dropout_add(attention.hidden_states, residual, config_.attention_dropout);
      mlp_layernorm_out = (*mlp_norm_)(residual);
    }
    const Tensor mlp_output = mlp_(mlp_layernorm_out);
    if (config_.new_decoder_architecture || config_.parallel_attn)
      ghost::add_(mlp_output, attention.hidden_states);
    return {falcon_dropout_add(mlp_output, residual, config_.hidden_dropout),
            attention.attn_weights};
  }

 private:
  FalconConfig config_;
  FalconAttention self_attention_;
  FalconMLP mlp_;
  std::unique_ptr<nn::LayerNorm> attention_norm_, mlp_norm_;
};

class FalconModel : public nn::Module<FalconModel> {
 public:
  FalconModel(const nn::Scope& scope, const FalconConfig& c)
      : Module(scope),
        word_embeddings(scope / "word_embeddings", c.vocab_size, c.hidden_size),
        config_(c),
        h_(scope / "h", c.num_hidden_layers, c),
        ln_f_(scope / "ln_f", c.hidden_size),
        rotary_emb_(scope / "rotary_emb", c.rope) {
    rotary_emb_.init_weights();
  }

  Tensor forward(const Tensor& input_ids, const Tensor& attention_mask) {
    const Tensor inputs_embeds = word_embeddings(input_ids);
    Tensor alibi, mask;
    if (config_.alibi) {
      mask =
          attention_mask.defined() ? attention_mask : ghost::ones(input_ids.sizes(), DType::int64);
      alibi = build_alibi_tensor(mask, config_.num_attention_heads, inputs_embeds.dtype(), true);
    }
    const Tensor position_ids = position_ids_for(inputs_embeds);
    Tensor causal_mask = create_causal_mask(
        {.attention = config_.attention,
         .attention_mask = attention_mask,
         .allow_is_causal_skip = false,
         .shared_since = changes::kAllMasksAreShared,
         .vmaps_with_true = !ghost::has(changes::kFalconAsksForItsMask),
         .one_more_key = false},
        inputs_embeds, ghost::has(changes::kAllMasksAreShared) ? Tensor() : position_ids);
    if (alibi.defined() && causal_mask.defined() && causal_mask.dim() == 4)
      add_alibi(causal_mask, alibi, inputs_embeds);
    Tensor hidden_states = inputs_embeds;
    const CosSin position_embeddings = rotary_emb_(hidden_states, position_ids);
    FalconOutput outputs;
    for (FalconDecoderLayer& block : h_) {
      outputs = block(hidden_states, alibi, causal_mask, position_ids, position_embeddings);
      hidden_states = outputs.hidden_states;
    }
    return ln_f_(hidden_states);
  }

  const nn::Embedding& get_input_embeddings() const { return word_embeddings; }

  nn::Embedding word_embeddings;

 private:
  /// The bias becomes part of the mask.
  static void add_alibi(Tensor& causal_mask, Tensor& alibi, const Tensor& inputs_embeds) {
    const DType dtype = inputs_embeds.dtype();
    if (causal_mask.dtype() == DType::boolean) {
      const Tensor zero = ghost::full({}, dtype);
      const Tensor min_dtype = ghost::full({}, dtype);
      causal_mask = ghost::where(causal_mask, zero, min_dtype);
    }
    alibi = alibi.reshape({inputs_embeds.size(0), -1, 1, alibi.size(-1)});
    Tensor scaled = alibi.div(2.0);
    causal_mask = ghost::masked_fill(std::move(scaled), ghost::lt(causal_mask, -1), ghost::kLowest);
  }

  FalconConfig config_;
  nn::ModuleList<FalconDecoderLayer> h_;
  nn::LayerNorm ln_f_;
  RotaryEmbedding rotary_emb_;
};

ModelPointer build_falcon(const Config& c, const ModelOptions& options) {
  return build_checked<TransformerForCausalLM<FalconModel>>(c, FalconConfig(c, options), options);
}

}  // namespace

extern const FamilyFacts kFalcon{
    .model_type = "falcon",
    .ties_head = Known::yes,
    .has_bos = Known::yes,
    .modeling = kDecoder,
    .classifiers = {.sequences = true, .tokens = true, .answers = true, .hidden_dropout = 0.0},
    .build = build_falcon};

}  // namespace memtape::family
