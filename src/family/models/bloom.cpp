// SPDX-License-Identifier: Apache-2.0
// BLOOM: a norm on the embedding, positions by ALiBi, eager attention only, and a GELU with a
// backward of its own; mirroring transformers 5.17 models/bloom/modeling_bloom.py.
#include "family/caches/key_value_cache.h"
#include "family/facts.h"
#include "family/masks/masking.h"
#include "family/parts/alibi.h"
#include "family/parts/config_checks.h"
#include "family/parts/transformer_for_causal_lm.h"
#include "ghost/autograd/node.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/dropout.h"
#include "ghost/ops/matmul.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "ghost/ops/views.h"
#include "nn/checkpointing.h"
#include "nn/layers.h"
#include "release/transformers_4_changes.h"
#include "release/transformers_changes.h"

namespace memtape::family {
namespace {

struct BloomConfig {
  explicit BloomConfig(const Config& c)
      : vocab_size(c.dimension("vocab_size", 250880)),
        hidden_size(c.dimension({"n_embed", "hidden_size"}, 64)),
        n_layer(c.layers({"num_hidden_layers", "n_layer"}, 2)),
        n_head(c.dimension({"num_attention_heads", "n_head"}, 8)),
        apply_residual_connection_post_layernorm(
            c.boolean("apply_residual_connection_post_layernorm", false)),
        hidden_dropout(c.number("hidden_dropout", 0.0)),
        attention_dropout(c.number("attention_dropout", 0.0)),
        tie_word_embeddings(c.boolean("tie_word_embeddings", true)) {
    check_divides(c, "n_head", n_head, hidden_size);
    if (c.boolean("slow_but_exact", false) && c.integer("pretraining_tp", 1) > 1)
      c.fail("slow_but_exact", "is for checking the parallel layers of pretraining, not predicted");
  }

  std::int64_t vocab_size, hidden_size, n_layer, n_head;
  bool apply_residual_connection_post_layernorm;
  double hidden_dropout, attention_dropout;
  bool tie_word_embeddings;
};

/// A layer's output, and the attention weights that the model's loop holds until the next layer is
/// done.
struct BloomBlockOutput {
  Tensor hidden_states, attn_weights;
};

Tensor bloom_dropout_add(const Tensor& x, const Tensor& residual, double prob) {
  const Tensor out = ghost::dropout(x, prob);
  return residual.add(out);
}

/// 0.79788456 * x * (1 + 0.044715 * x * x)
Tensor tanh_of_cubic(const Tensor& x) {
  Tensor scaled = x.mul(0.79788456);
  return ghost::tanh(std::move(scaled).mul(x.mul(0.044715).mul(x).add(1.0)));
}

/// x * 0.5 * (1.0 + tanh(...))
Tensor bloom_gelu_forward(const Tensor& x) {
  Tensor half = x.mul(0.5);
  return std::move(half).mul(tanh_of_cubic(x).add(1.0));
}

/// ff = 0.5 * x * ((1 - tanh_out^2) * (0.79788456 + 0.1070322243 * x * x)) + 0.5 * (1 + tanh_out)
Tensor bloom_gelu_back(const Tensor& g, const Tensor& x) {
  const Tensor tanh_out = tanh_of_cubic(x);
  Tensor half = x.mul(0.5);
  Tensor slope = ghost::rsub(1.0, tanh_out.mul(tanh_out));
  slope = std::move(slope).mul(x.mul(0.1070322243).mul(x).add(0.79788456));
  half = std::move(half).mul(std::move(slope));
  const Tensor ff = std::move(half).add(tanh_out.add(1.0).mul(0.5));
  return ff.mul(g);
}

struct GeLUFunctionBackward final : ghost::Node {
  GeLUFunctionBackward() : Node("GeLUFunctionBackward") {}
  void apply(ghost::Gradients& in, ghost::Gradients& out) override {
    out[0] = bloom_gelu_back(in[0], input.unpack());
  }
  void release() override { input.reset(); }
  ghost::Saved input;
};

/// GeLUFunction.apply.
Tensor bloom_gelu(const In& x) {
  ghost::Op op("GeLUFunction", {&x});
  ghost::Ptr<GeLUFunctionBackward> node;
  if (op.differentiable()) node = op.node<GeLUFunctionBackward>({&*x});
  Tensor out;
  {
    const ghost::GradMode no_grad(false);
    out = bloom_gelu_forward(*x);
  }
  if (node) {
    node->input.keep(*x);
    set_history(out, node);
  }
  return out;
}

class BloomAttention : public nn::Module<BloomAttention> {
 public:
  BloomAttention(const nn::Scope& scope, const BloomConfig& c)
      : Module(scope),
        num_heads_(c.n_head),
        head_dim_(c.hidden_size / c.n_head),
        hidden_dropout_(c.hidden_dropout),
        query_key_value_(scope / "query_key_value", c.hidden_size, 3 * c.hidden_size),
        dense_(scope / "dense", c.hidden_size, c.hidden_size),
        attention_dropout_(scope / "attention_dropout", c.attention_dropout) {}

  BloomBlockOutput forward(const Tensor& hidden_states, const Tensor& residual, const Tensor& alibi,
                           const Tensor& attention_mask) {
    const std::int64_t batch = hidden_states.size(0), q_length = hidden_states.size(1),
                       rows = batch * num_heads_;
    const Tensor fused_qkv = query_key_value_(hidden_states);
    const Tensor heads = fused_qkv.view({batch, q_length, num_heads_, 3, head_dim_});
    // fused_qkv[..., i, :]
    const auto part = [&heads](std::int64_t i) {
      return ghost::indexed_by_colons(heads.select(3, i), 1);
    };
    const Tensor query = part(0).transpose(1, 2);
    Tensor key = part(1).transpose(1, 2);
    Tensor value = part(2).transpose(1, 2);
    KeyValueCache::update(key, value);
    const Tensor query_layer = query.reshape({rows, -1, head_dim_});
    const Tensor key_layer = key.reshape({rows, -1, head_dim_}).transpose(-1, -2);
    const Tensor value_layer = value.reshape({rows, -1, head_dim_});
    const Tensor attention_scores = ghost::baddbmm(alibi, query_layer, key_layer, kNormFactor);
    Tensor attn_weights = attention_scores.view({batch, num_heads_, q_length, -1});
    if (attention_mask.defined()) attn_weights = attn_weights.add(attention_mask);
    Tensor attention_probs = ghost::softmax(attn_weights, DType::float32).to(query_layer.dtype());
    attention_probs = attention_dropout_(attention_probs);
    Tensor context_layer = ghost::bmm(attention_probs.view({rows, q_length, -1}), value_layer);
    context_layer = merge_heads(context_layer);
    Tensor output_tensor = dense_(context_layer);
    output_tensor = bloom_dropout_add(output_tensor, residual, hidden_dropout_);
    if (!ghost::has(changes::kBloomReturnsProbabilities)) attention_probs.reset();
    return {std::move(output_tensor), std::move(attention_probs)};
  }

 private:
  static constexpr double kNormFactor =
      0.5;  ///< 1 / sqrt(head_dim): not 1, so that its gradient is a product

  Tensor merge_heads(const Tensor& x) const {
    const std::int64_t batch = x.size(0) / num_heads_, length = x.size(1);
    return x.view({batch, num_heads_, length, head_dim_})
        .permute({0, 2, 1, 3})
        .reshape({batch, length, num_heads_ * head_dim_});
  }

  std::int64_t num_heads_, head_dim_;
  double hidden_dropout_;
  nn::Linear query_key_value_, dense_;
  nn::Dropout attention_dropout_;
};

class BloomMLP : public nn::Module<BloomMLP> {
 public:
  BloomMLP(const nn::Scope& scope, const BloomConfig& c)
      : Module(scope),
        hidden_dropout_(c.hidden_dropout),
        dense_h_to_4h_(scope / "dense_h_to_4h", c.hidden_size, 4 * c.hidden_size),
        dense_4h_to_h_(scope / "dense_4h_to_h", 4 * c.hidden_size, c.hidden_size) {}

  Tensor forward(const Tensor& x, const Tensor& residual) {
    const Tensor hidden_states = bloom_gelu(dense_h_to_4h_(x));
    const Tensor intermediate_output = dense_4h_to_h_(hidden_states);
    return bloom_dropout_add(intermediate_output, residual, hidden_dropout_);
  }

 private:
  double hidden_dropout_;
  nn::Linear dense_h_to_4h_, dense_4h_to_h_;
};

class BloomBlock : public nn::GradientCheckpointingLayer<BloomBlock> {
 public:
  BloomBlock(const nn::Scope& scope, const BloomConfig& c)
      : GradientCheckpointingLayer(scope),
        residual_post_layernorm_(c.apply_residual_connection_post_layernorm),
        input_layernorm_(scope / "input_layernorm", c.hidden_size),
        self_attention_(scope / "self_attention", c),
        post_attention_layernorm_(scope / "post_attention_layernorm", c.hidden_size),
        mlp_(scope / "mlp", c) {}

  BloomBlockOutput forward(const Tensor& hidden_states, const Tensor& alibi,
                           const Tensor& attention_mask, const Tensor& /*cache_position*/) {
    Tensor layernorm_output = input_layernorm_(hidden_states);
    Tensor residual = residual_post_layernorm_ ? layernorm_output : hidden_states;
    const BloomBlockOutput attention =
        self_attention_(layernorm_output, residual, alibi, attention_mask);
    layernorm_output = post_attention_layernorm_(attention.hidden_states);
    residual = residual_post_layernorm_ ? layernorm_output : attention.hidden_states;
    return {mlp_(layernorm_output, residual), attention.attn_weights};
  }

 private:
  bool residual_post_layernorm_;
  nn::LayerNorm input_layernorm_;
  BloomAttention self_attention_;
  nn::LayerNorm post_attention_layernorm_;
  BloomMLP mlp_;
};

class BloomModel : public nn::Module<BloomModel> {
 public:
  BloomModel(const nn::Scope& scope, const BloomConfig& c)
      : Module(scope),
        word_embeddings(scope / "word_embeddings", c.vocab_size, c.hidden_size),
        num_heads_(c.n_head),
        word_embeddings_layernorm_(scope / "word_embeddings_layernorm", c.hidden_size),
        h_(scope / "h", c.n_layer, c),
        ln_f_(scope / "ln_f", c.hidden_size) {}

  Tensor forward(const Tensor& input_ids, const Tensor& given_mask) {
    const Tensor inputs_embeds = word_embeddings(input_ids);
    Tensor cache_position;
    if (!ghost::has(changes::kCachePositionsAreGone))
      cache_position = ghost::arange(input_ids.size(1), DType::int64).unsqueeze(0);
    Tensor hidden_states = word_embeddings_layernorm_(inputs_embeds);
    const Tensor attention_mask =
        given_mask.defined() ? given_mask : ghost::ones(input_ids.sizes(), DType::float32);
    const Tensor alibi = build_alibi_tensor(attention_mask, num_heads_, hidden_states.dtype());
    const Tensor causal_mask = create_causal_mask({.attention = AttentionImplementation::eager,
                                                   .attention_mask = attention_mask,
                                                   .shared_since = changes::kAllMasksAreShared},
                                                  inputs_embeds, cache_position);
    BloomBlockOutput outputs;
    for (BloomBlock& block : h_) {
      outputs = block(hidden_states, alibi, causal_mask, cache_position);
      hidden_states = outputs.hidden_states;
    }
    return ln_f_(hidden_states);
  }

  const nn::Embedding& get_input_embeddings() const { return word_embeddings; }

  nn::Embedding word_embeddings;

 private:
  std::int64_t num_heads_;
  nn::LayerNorm word_embeddings_layernorm_;
  nn::ModuleList<BloomBlock> h_;
  nn::LayerNorm ln_f_;
};

ModelPointer build_bloom(const Config& c, const ModelOptions& options) {
  return build_checked<TransformerForCausalLM<BloomModel>>(c, BloomConfig(c), options);
}

}  // namespace

extern const FamilyFacts kBloom{
    .model_type = "bloom",
    .ties_head = Known::yes,
    .has_bos = Known::yes,
    .modeling = eager_only(without_position_ids(kDecoder)),
    .classifiers = {.sequences = true, .tokens = true, .answers = true, .hidden_dropout = 0.0},
    .build = build_bloom};

}  // namespace memtape::family
