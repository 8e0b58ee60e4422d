// SPDX-License-Identifier: Apache-2.0
// LFM2: layers of a short gated convolution or of attention with norms on the heads of q and k;
// mirroring transformers 5.17 models/lfm2/modular_lfm2.py.
#include <algorithm>
#include <optional>

#include "family/families.h"
#include "family/llama.h"
#include "family/loss.h"
#include "family/mamba2_mixer.h"
#include "family/qwen3.h"
#include "ghost/ops/pointwise.h"

namespace memtape::family {
namespace {

struct Lfm2Config : DecoderConfig {
  Lfm2Config(const Config& c, const ModelOptions& options)
      : DecoderConfig(c, options,
                      {.vocab_size = 65536,
                       .hidden_size = 2560,
                       .intermediate_size = 12288,
                       .num_key_value_heads = 8,
                       .tie_word_embeddings = true}),
        attends(attention_layers(c)),
        conv_bias(c.boolean("conv_bias", false)),
        conv_kernel(c.dimension("conv_L_cache", 3)) {
    attention_dropout = 0.0;
    if (c.has("tie_embedding")) tie_word_embeddings = c.boolean("tie_embedding");
    if (c.has("block_ff_dim")) intermediate_size = c.dimension("block_ff_dim");
    if (c.boolean("block_auto_adjust_ff_dim", true)) adjust_intermediate_size(c);
  }

  std::vector<bool> attends;  ///< by layer; the others have a convolution
  bool conv_bias;
  std::int64_t conv_kernel;

 private:
  std::vector<bool> attention_layers(const Config& c) const {
    const std::vector<std::int64_t> indices = c.integers("full_attn_idxs");
    std::vector<bool> layers;
    for (std::int64_t i = 0; i < num_hidden_layers; ++i)
      layers.push_back(c.is_null("full_attn_idxs") ||
                       std::ranges::find(indices, i) != indices.end());
    if (c.is_null("layer_types")) return layers;
    layers.clear();
    for (const std::string& name : c.texts("layer_types")) {
      layers.push_back(name == "full_attention");
      if (!layers.back() && name != "conv")
        c.fail("layer_types", "unknown type \"" + name + "\", use full_attention or conv");
    }
    if (layers.size() != static_cast<std::size_t>(num_hidden_layers))
      c.fail("layer_types", "must name " + std::to_string(num_hidden_layers) + " layers, names " +
                                std::to_string(layers.size()));
    layers.resize(static_cast<std::size_t>(num_hidden_layers));
    return layers;
  }

  /// Two thirds, times a factor, up to a multiple of a block.
  void adjust_intermediate_size(const Config& c) {
    intermediate_size = 2 * intermediate_size / 3;
    const std::int64_t block = c.dimension("block_multiple_of", 256);
    if (c.has("block_ffn_dim_multiplier") && c.is_null("block_ffn_dim_multiplier")) return;
    const double factor = c.number("block_ffn_dim_multiplier", 1.0);
    if (factor <= 0 || factor > 1e6)
      c.fail("block_ffn_dim_multiplier", "must be a positive number");
    const double product = std::clamp(factor, 0.0, 1e6) * static_cast<double>(intermediate_size);
    intermediate_size =
        std::max<std::int64_t>(ceil_div(static_cast<std::int64_t>(product), block), 1) * block;
  }
};

class Lfm2MLP : public nn::Module<Lfm2MLP> {
 public:
  Lfm2MLP(const nn::Scope& scope, const Lfm2Config& c)
      : Module(scope),
        w1_(scope / "w1", c.hidden_size, c.intermediate_size, false),
        w3_(scope / "w3", c.hidden_size, c.intermediate_size, false),
        w2_(scope / "w2", c.intermediate_size, c.hidden_size, false) {}
  Tensor forward(const Tensor& x) { return w2_(ghost::silu(w1_(x)).mul(w3_(x))); }

 private:
  nn::Linear w1_, w3_, w2_;
};

struct Lfm2Steps : Qwen3Steps {
  static constexpr const char* kOutput = "out_proj";
  Lfm2Steps(const nn::Scope& scope, const DecoderConfig& c, std::int64_t layer)
      : Qwen3Steps(scope, c, layer, {.query = "q_layernorm", .key = "k_layernorm"}) {}
};

class Lfm2ShortConv : public nn::Module<Lfm2ShortConv> {
 public:
  Lfm2ShortConv(const nn::Scope& scope, const Lfm2Config& c)
      : Module(scope),
        conv_(scope / "conv", Dims{c.hidden_size, 1, c.conv_kernel}, c.conv_bias),
        in_proj_(scope / "in_proj", c.hidden_size, 3 * c.hidden_size, c.conv_bias),
        out_proj_(scope / "out_proj", c.hidden_size, c.hidden_size, c.conv_bias),
        none_(*nn::Activation::from_name("linear")) {}

  Tensor forward(const Tensor& given) {
    const Tensor BCx = in_proj_(given).transpose(-1, -2);
    const std::vector<Tensor> parts = BCx.chunk(3, -2);
    const Tensor &B = parts[0], &C = parts[1], &x = parts[2];
    Tensor hidden_states = B.mul(x);
    hidden_states = causal_conv1d(hidden_states, conv_, none_);
    Tensor y = C.mul(hidden_states);
    y = y.transpose(-1, -2).contiguous();
    y = out_proj_(y);
    return y;
  }

 private:
  nn::Convolution conv_;
  nn::Linear in_proj_, out_proj_;
  nn::Activation none_;
};

class Lfm2DecoderLayer : public nn::GradientCheckpointingLayer<Lfm2DecoderLayer> {
 public:
  Lfm2DecoderLayer(const nn::Scope& scope, const Lfm2Config& c, std::int64_t layer)
      : GradientCheckpointingLayer(scope) {
    if (c.attends[static_cast<std::size_t>(layer)])
      self_attn_.emplace(scope / "self_attn", c, layer);
    else
      conv_.emplace(scope / "conv", c);
    feed_forward_.emplace(scope / "feed_forward", c);
    operator_norm_.emplace(scope / "operator_norm", c.hidden_size);
    ffn_norm_.emplace(scope / "ffn_norm", c.hidden_size);
  }

  Tensor forward(const Tensor& residual, const Tensor& attention_mask,
                 const CosSin& position_embeddings, const Tensor&) {
    Tensor hidden_states =
        self_attn_ ? (*self_attn_)((*operator_norm_)(residual), attention_mask, position_embeddings)
                   : (*conv_)((*operator_norm_)(residual));
    hidden_states = hidden_states.add(residual);
    hidden_states = hidden_states.add((*feed_forward_)((*ffn_norm_)(hidden_states)));
    return hidden_states;
  }

 private:
  std::optional<AttentionOf<Lfm2Steps>> self_attn_;
  std::optional<Lfm2ShortConv> conv_;
  std::optional<Lfm2MLP> feed_forward_;
  std::optional<LlamaRMSNorm> operator_norm_, ffn_norm_;
};

class Lfm2ForCausalLM : public PretrainedModel {
 public:
  Lfm2ForCausalLM(const Lfm2Config& c, const ModelOptions& options)
      : PretrainedModel(options),
        config_(c),
        model_(root() / "model"),
        embed_tokens_(model_ / "embed_tokens", c.vocab_size, c.hidden_size),
        layers_(model_ / "layers", c.num_hidden_layers, c),
        rotary_emb_(model_ / "rotary_emb", c.rope),
        embedding_norm_(model_ / "embedding_norm", c.hidden_size),
        lm_head_(init_weights() / "lm_head", c.hidden_size, c.vocab_size, false) {
    if (c.tie_word_embeddings) nn::tie(lm_head_, embed_tokens_.weight);
  }

  ModelOutput forward(const Batch& batch) override {
    const Tensor hidden_states = run_model(batch);
    Tensor logits = lm_head_(kept_for_logits(hidden_states));
    Tensor loss = causal_lm_loss(logits, batch, config_.vocab_size);
    return {std::move(loss), std::move(logits)};
  }

 private:
  nn::Scope init_weights() {
    rotary_emb_.init_weights();
    return root();
  }

  Tensor run_model(const Batch& batch) {
    const Tensor inputs_embeds = embed_tokens_(batch.input_ids);
    const auto [position_ids, full_attention, conv] =
        hybrid_inputs(config_.attention, batch.attention_mask, inputs_embeds);
    Tensor hidden_states = inputs_embeds;
    const CosSin position_embeddings = rotary_emb_(hidden_states, position_ids);
    std::size_t layer = 0;
    for (Lfm2DecoderLayer& decoder_layer : layers_)
      hidden_states = decoder_layer(hidden_states, config_.attends[layer++] ? full_attention : conv,
                                    position_embeddings, position_ids);
    return embedding_norm_(hidden_states);
  }

  Lfm2Config config_;
  nn::Scope model_;
  nn::Embedding embed_tokens_;
  nn::ModuleList<Lfm2DecoderLayer> layers_;
  RotaryEmbedding rotary_emb_;
  LlamaRMSNorm embedding_norm_;
  nn::Linear lm_head_;
};

}  // namespace

ModelPointer build_lfm2(const Config& c, const ModelOptions& options) {
  return build_checked<Lfm2ForCausalLM>(c, Lfm2Config(c, options), options);
}

}  // namespace memtape::family
