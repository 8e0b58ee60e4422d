// SPDX-License-Identifier: Apache-2.0
// OPT: positions counted from the attention mask, dropout on both branches, and a 350m that
// projects its embeddings in and out and normalises after each branch; mirroring transformers 5.17
// models/opt/modeling_opt.py.
#include <array>
#include <memory>

#include "family/caches/key_value_cache.h"
#include "family/facts.h"
#include "family/masks/masking.h"
#include "family/masks/update_causal_mask.h"
#include "family/parts/activations.h"
#include "family/parts/attention_interface.h"
#include "family/parts/config_checks.h"
#include "family/parts/forward_arguments.h"
#include "family/parts/transformer_for_causal_lm.h"
#include "ghost/autocast.h"
#include "ghost/ops/attention.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/dropout.h"
#include "ghost/ops/extremes.h"
#include "ghost/ops/matmul.h"
#include "ghost/ops/reductions.h"
#include "ghost/session.h"
#include "nn/checkpointing.h"
#include "nn/layer_frame.h"
#include "nn/layer_stack.h"
#include "nn/layers.h"
#include "release/transformers_4_changes.h"
#include "release/transformers_5_changes.h"

namespace memtape::family {
namespace {

struct OPTConfig {
  OPTConfig(const Config& c, const ModelOptions& options)
      : vocab_size(c.dimension("vocab_size", 50272)),
        hidden_size(c.dimension("hidden_size", 768)),
        num_hidden_layers(c.layers("num_hidden_layers", 12)),
        ffn_dim(c.dimension("ffn_dim", 3072)),
        max_position_embeddings(c.dimension("max_position_embeddings", 2048)),
        num_attention_heads(c.dimension("num_attention_heads", 12)),
        word_embed_proj_dim(c.optional_dimension("word_embed_proj_dim").value_or(hidden_size)),
        activation_function(activation(c, "activation_function", "relu")),
        dropout(c.number("dropout", 0.1)),
        attention_dropout(c.number("attention_dropout", 0.0)),
        do_layer_norm_before(c.boolean("do_layer_norm_before", true)),
        remove_final_layer_norm(c.boolean("_remove_final_layer_norm", false)),
        enable_bias(c.boolean("enable_bias", true)),
        layer_norm_elementwise_affine(c.boolean("layer_norm_elementwise_affine", true)),
        tie_word_embeddings(c.boolean("tie_word_embeddings", true)),
        attention(options.attention) {
    check_divides(c, "num_attention_heads", num_attention_heads, hidden_size);
    if (c.number("layerdrop", 0.0) > 0.0)
      c.fail("layerdrop", "skips layers at random: memory is not determined");
  }

  std::int64_t vocab_size, hidden_size, num_hidden_layers, ffn_dim, max_position_embeddings,
      num_attention_heads;
  std::int64_t word_embed_proj_dim;
  nn::Activation activation_function;
  double dropout, attention_dropout;
  bool do_layer_norm_before, remove_final_layer_norm, enable_bias, layer_norm_elementwise_affine,
      tie_word_embeddings;
  AttentionImplementation attention;
};

/// The first two rows of its table are never used.
class OPTLearnedPositionalEmbedding : public nn::Embedding {
 public:
  OPTLearnedPositionalEmbedding(const nn::Scope& scope, std::int64_t num_embeddings,
                                std::int64_t embedding_dim)
      : Embedding(scope, num_embeddings + kOffset, embedding_dim) {}

  Tensor operator()(const Tensor& position_ids) {
    return nn::Embedding::operator()(position_ids.add(kOffset));
  }

 private:
  static constexpr int kOffset = 2;
};

class OPTAttention : public nn::Module<OPTAttention> {
 public:
  OPTAttention(const nn::Scope& scope, const OPTConfig& c)
      : Module(scope),
        call_{.implementation = c.attention, .dropout = c.attention_dropout},
        num_heads_(c.num_attention_heads),
        head_dim_(c.hidden_size / c.num_attention_heads),
        k_proj_(scope / "k_proj", c.hidden_size, c.hidden_size, c.enable_bias),
        v_proj_(scope / "v_proj", c.hidden_size, c.hidden_size, c.enable_bias),
        q_proj_(scope / "q_proj", c.hidden_size, c.hidden_size, c.enable_bias),
        out_proj_(scope / "out_proj", c.hidden_size, c.hidden_size, c.enable_bias) {}

  Tensor forward(const Tensor& hidden_states, const Tensor& attention_mask) {
    const std::int64_t bsz = hidden_states.size(0), tgt_len = hidden_states.size(1);
    const bool is_older = !ghost::has(changes::kOptCallsTheInterface);
    const bool calls_sdpa = is_older && call_.implementation == AttentionImplementation::sdpa;
    const bool is_written_out = is_older && call_.implementation == AttentionImplementation::eager;
    Tensor query_states = q_proj_(hidden_states);
    if (!calls_sdpa || !ghost::has(changes::kOptCountsPositions))
      query_states = query_states.mul(ghost::kScale);
    const bool attends_in_rows = is_written_out && !ghost::has(changes::kOptCountsPositions);
    if (!attends_in_rows) query_states = by_heads(query_states);
    Tensor key_states = by_heads(k_proj_(hidden_states));
    Tensor value_states = by_heads(v_proj_(hidden_states));
    if (attends_in_rows) query_states = by_heads(query_states);
    KeyValueCache::update(key_states, value_states);
    Tensor attn_weights, attn_probs, attn_output;
    if (calls_sdpa)
      attn_output = sdpa(query_states, key_states, value_states, attention_mask);
    else if (attends_in_rows)
      attn_output = eager_in_rows({query_states, key_states, value_states}, attention_mask,
                                  attn_weights, attn_probs);
    else if (is_written_out)
      attn_output = eager(query_states, key_states, value_states, attention_mask, attn_weights);
    else
      attn_output =
          attention_interface(call_, query_states, key_states, value_states, attention_mask);
    if (!ghost::has(changes::kOptCountsPositions))
      nn::LayerFrame::keep_key_values(key_states, value_states);
    attn_output = attn_output.reshape({bsz, tgt_len, -1}).contiguous();
    attn_output = out_proj_(attn_output);
    return attn_output;
  }

 private:
  /// [B, S, hidden] as [B, heads, S, head_dim]; _shape packed it.
  Tensor by_heads(const Tensor& states) const {
    const Dims sizes{states.size(0), -1, num_heads_, head_dim_};
    const Tensor heads = states.view(sizes).transpose(1, 2);
    return ghost::has(changes::kOptCountsPositions) ? heads : heads.contiguous();
  }

  /// OPTSdpaAttention.
  Tensor sdpa(const Tensor& query, const Tensor& key, const Tensor& value,
              const Tensor& attention_mask) const {
    const double dropout = ghost::session().training ? call_.dropout : 0.0;
    const bool is_causal = !attention_mask.defined() && query.size(2) > 1;
    return ghost::scaled_dot_product_attention(query, key, value, attention_mask,
                                               {.dropout = dropout, .is_causal = is_causal})
        .transpose(1, 2)
        .contiguous();
  }

  /// OPTAttention of 4.48, over [B * heads, S, head_dim]: scores are no lower than their dtype's
  /// lowest number.
  Tensor eager_in_rows(const std::array<Tensor, 3>& states, const Tensor& attention_mask,
                       Tensor& attn_weights, Tensor& attn_probs) const {
    const Dims sizes = states[0].sizes();
    const Dims rows{sizes[0] * sizes[1], sizes[2], sizes[3]};
    const Tensor query = states[0].view(rows), key = states[1].view(rows),
                 value = states[2].view(rows);
    attn_weights = ghost::bmm(query, key.transpose(1, 2));
    const Dims scores = attn_weights.sizes();
    if (attention_mask.defined()) {
      attn_weights =
          attn_weights.view({sizes[0], sizes[1], sizes[2], sizes[2]}).add(attention_mask);
      const Tensor lowest = ghost::full({}, DType::float32);
      attn_weights = ghost::maximum(attn_weights, lowest);
      attn_weights = attn_weights.view(scores);
    }
    attn_weights = attn_weights.dtype() == DType::float16
                       ? ghost::softmax(attn_weights, DType::float32).to(DType::float16)
                       : ghost::softmax(attn_weights, ghost::reduction_dtype(attn_weights));
    attn_probs = ghost::dropout(attn_weights, call_.dropout);
    return ghost::bmm(attn_probs, value).view(sizes).transpose(1, 2);
  }

  /// OPTAttention, whose queries come scaled and whose weights are returned.
  Tensor eager(const Tensor& query, const Tensor& key, const Tensor& value,
               const Tensor& attention_mask, Tensor& attn_weights) const {
    attn_weights = query.matmul(key.transpose(3, 2));
    if (attention_mask.defined()) attn_weights = attn_weights.add(attention_mask);
    attn_weights = ghost::softmax(attn_weights, DType::float32).to(query.dtype());
    const Tensor attn_probs = ghost::dropout(attn_weights, call_.dropout);
    nn::LayerFrame::keep_attention_weights(attn_probs);
    return attn_probs.matmul(value).transpose(1, 2).contiguous();
  }

  AttentionCall call_;
  std::int64_t num_heads_, head_dim_;
  nn::Linear k_proj_, v_proj_, q_proj_, out_proj_;
};

class OPTDecoderLayer : public nn::GradientCheckpointingLayer<OPTDecoderLayer> {
 public:
  OPTDecoderLayer(const nn::Scope& scope, const OPTConfig& c)
      : GradientCheckpointingLayer(scope),
        do_layer_norm_before_(c.do_layer_norm_before),
        dropout_(c.dropout),
        activation_fn_(c.activation_function),
        self_attn_(scope / "self_attn", c),
        self_attn_layer_norm_(scope / "self_attn_layer_norm", c.hidden_size, true,
                              c.layer_norm_elementwise_affine),
        fc1_(scope / "fc1", c.hidden_size, c.ffn_dim, c.enable_bias),
        fc2_(scope / "fc2", c.ffn_dim, c.hidden_size, c.enable_bias),
        final_layer_norm_(scope / "final_layer_norm", c.hidden_size, true,
                          c.layer_norm_elementwise_affine) {}

  Tensor forward(const Tensor& x, const Tensor& attention_mask, const Tensor& /*position_ids*/,
                 const Tensor& /*cache_position*/) {
    Tensor residual = x;
    Tensor hidden_states = x;
    if (do_layer_norm_before_) hidden_states = self_attn_layer_norm_(hidden_states);
    hidden_states = self_attn_(hidden_states, attention_mask);
    hidden_states = ghost::dropout(hidden_states, dropout_);
    hidden_states = residual.add(hidden_states);
    if (!do_layer_norm_before_) hidden_states = self_attn_layer_norm_(hidden_states);

    const Dims hidden_states_shape = hidden_states.sizes();
    hidden_states = hidden_states.reshape({-1, hidden_states.size(-1)});
    residual = hidden_states;
    if (do_layer_norm_before_) hidden_states = final_layer_norm_(hidden_states);
    hidden_states = fc1_(hidden_states);
    hidden_states = activation_fn_(hidden_states);
    hidden_states = fc2_(hidden_states);
    hidden_states = ghost::dropout(hidden_states, dropout_);
    hidden_states = residual.add(hidden_states).view(hidden_states_shape);
    if (!do_layer_norm_before_) hidden_states = final_layer_norm_(hidden_states);
    return hidden_states;
  }

 private:
  bool do_layer_norm_before_;
  double dropout_;
  nn::Activation activation_fn_;
  OPTAttention self_attn_;
  nn::LayerNorm self_attn_layer_norm_;
  nn::Linear fc1_, fc2_;
  nn::LayerNorm final_layer_norm_;
};

class OPTDecoder : public nn::Module<OPTDecoder> {
 public:
  OPTDecoder(const nn::Scope& scope, const OPTConfig& c)
      : Module(scope),
        embed_tokens(scope / "embed_tokens", c.vocab_size, c.word_embed_proj_dim),
        attention_(c.attention),
        embed_positions_(scope / "embed_positions", c.max_position_embeddings, c.hidden_size) {
    if (c.word_embed_proj_dim != c.hidden_size) {
      project_out_ = std::make_unique<nn::Linear>(scope / "project_out", c.hidden_size,
                                                  c.word_embed_proj_dim, false);
      project_in_ = std::make_unique<nn::Linear>(scope / "project_in", c.word_embed_proj_dim,
                                                 c.hidden_size, false);
    }
    if (c.do_layer_norm_before && !c.remove_final_layer_norm)
      final_layer_norm_ = std::make_unique<nn::LayerNorm>(scope / "final_layer_norm", c.hidden_size,
                                                          true, c.layer_norm_elementwise_affine);
    layers_ =
        std::make_unique<nn::ModuleList<OPTDecoderLayer>>(scope / "layers", c.num_hidden_layers, c);
  }

  Tensor forward(const Tensor& input_ids, const Tensor& given_mask) {
    Tensor inputs_embeds = embed_tokens(input_ids);
    Tensor cache_position;
    if (ghost::has(changes::kOptCountsPositions) && !ghost::has(changes::kCachePositionsAreGone))
      cache_position = ghost::arange(input_ids.size(1), DType::int64).unsqueeze(0);
    const Tensor attention_mask =
        given_mask.defined() ? given_mask : ghost::ones(input_ids.sizes(), DType::float32);
    const bool masks_first = !ghost::has(changes::kAllMasksAreShared);
    const bool masks_as_given = ghost::has(changes::kOptMasksAsGiven);
    const MaskRequest request{.attention = attention_,
                              .attention_mask = masks_as_given ? given_mask : attention_mask,
                              .shared_since = changes::kAllMasksAreShared};
    Tensor causal_mask;
    if (attention_ == AttentionImplementation::eager && !ghost::has(changes::kOptCountsPositions))
      causal_mask = prepare_4d_causal_attention_mask(attention_mask, inputs_embeds);
    else if (masks_first)
      causal_mask = create_causal_mask(request, inputs_embeds, cache_position);
    const bool counts_itself = ghost::has(changes::kOptCountsPositions);
    Tensor position_ids = passed_position_ids(), counted;
    if (!position_ids.defined()) {
      counted = counts_itself ? attention_mask : attention_mask.to(DType::int64);
      position_ids = ghost::cumsum(counted);
      Tensor product =
          counts_itself ? position_ids.mul(counted) : std::move(position_ids).mul(counted);
      position_ids = std::move(product).add(-1).to(DType::int64);
      position_ids = position_ids.slice(1, 0, position_ids.size(1));
    }
    if (!masks_first) causal_mask = create_causal_mask(request, inputs_embeds, {});
    const Tensor pos_embeds = embed_positions_(position_ids);
    counted.reset();
    if (!counts_itself) position_ids.reset();  // it was the embedding's own
    if (project_in_) inputs_embeds = (*project_in_)(inputs_embeds);
    Tensor hidden_states = inputs_embeds.add(pos_embeds);
    hidden_states =
        nn::run_layers(*layers_, std::move(hidden_states), 1,
                       [&](OPTDecoderLayer& decoder_layer, std::size_t, const Tensor& x) {
                         return decoder_layer(x, causal_mask, position_ids, cache_position);
                       });
    if (final_layer_norm_) hidden_states = (*final_layer_norm_)(hidden_states);
    if (project_out_) hidden_states = (*project_out_)(hidden_states);
    return hidden_states;
  }

  nn::Embedding embed_tokens;

 private:
  AttentionImplementation attention_;
  OPTLearnedPositionalEmbedding embed_positions_;
  std::unique_ptr<nn::Linear> project_out_, project_in_;
  std::unique_ptr<nn::LayerNorm> final_layer_norm_;
  std::unique_ptr<nn::ModuleList<OPTDecoderLayer>> layers_;
};

class OPTModel : public nn::Module<OPTModel> {
 public:
  OPTModel(const nn::Scope& scope, const OPTConfig& c)
      : Module(scope), decoder_(scope / "decoder", c) {}

  Tensor forward(const Tensor& input_ids, const Tensor& attention_mask) {
    return decoder_(input_ids, attention_mask);
  }

  const nn::Embedding& get_input_embeddings() const { return decoder_.embed_tokens; }

  static constexpr const char* kAttribute = "model";

 private:
  OPTDecoder decoder_;
};

ModelPointer build_opt(const Config& c, const ModelOptions& options) {
  return build_checked<TransformerForCausalLM<OPTModel>>(c, OPTConfig(c, options), options);
}

}  // namespace

extern const FamilyFacts kOpt{.model_type = "opt",
                              .ties_head = Known::yes,
                              .has_bos = Known::yes,
                              .modeling = kDecoder,
                              .classifiers = {.sequences = true, .answers = true},
                              .build = build_opt};

}  // namespace memtape::family
