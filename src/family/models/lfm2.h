// SPDX-License-Identifier: Apache-2.0
// The layers of LFM2 and of its mixture of experts: a short gated convolution, or attention with
// norms on the heads of q and k; mirroring transformers 5.17 models/lfm2/modular_lfm2.py.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "family/parts/hybrid_for_causal_lm.h"
#include "family/parts/llama_layer.h"
#include "family/parts/mamba2_mixer.h"
#include "family/parts/qwen3_attention.h"
#include "ghost/ops/pointwise.h"

namespace memtape::family {

/// What the configurations of both have: which layers attend, and the convolutions of the others.
struct Lfm2LayersConfig : DecoderConfig {
  Lfm2LayersConfig(const Config& c, const ModelOptions& options, const DecoderDefaults& defaults)
      : DecoderConfig(c, options, defaults),
        conv_bias(c.boolean("conv_bias", false)),
        conv_kernel(c.dimension("conv_L_cache", 3)),
        attention_layers_(attention_layers(c)) {
    attention_dropout = 0.0;
    if (c.has("tie_embedding")) tie_word_embeddings = c.boolean("tie_embedding");
  }

  /// The other layers have a convolution.
  bool attends(std::int64_t layer) const {
    return attention_layers_[static_cast<std::size_t>(layer)];
  }

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

  std::vector<bool> attention_layers_;
};

class Lfm2MLP : public nn::Module<Lfm2MLP> {
 public:
  Lfm2MLP(const nn::Scope& scope, const DecoderConfig& c, std::int64_t)
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
  template <class Settings>
  Lfm2ShortConv(const nn::Scope& scope, const Settings& c)
      : Module(scope),
        conv_(scope / "conv", Dims{c.hidden_size, 1, c.conv_kernel}, c.conv_bias),
        in_proj_(scope / "in_proj", c.hidden_size, 3 * c.hidden_size, c.conv_bias),
        out_proj_(scope / "out_proj", c.hidden_size, c.hidden_size, c.conv_bias),
        none_(*nn::Activation::from_name("linear")) {}

  Tensor forward(const Tensor& given) {
    const Tensor BCx = in_proj_(given).transpose(-1, -2);
    const std::vector<Tensor> parts = BCx.chunk(3, -2);
    const Tensor &B = parts[0], &C = parts[1], &x = parts[2];
    Tensor hidden_states = B.mul(x), Bx;
    if (!ghost::has(changes::kLfm2RebindsItsProduct)) Bx = hidden_states;
    hidden_states =
        cached_conv1d(std::move(hidden_states), KeyValueCache::linear_layer(), conv_, none_);
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

/// `FeedForward` is made with (scope, settings, layer).
template <class FeedForward>
class Lfm2DecoderLayer : public nn::GradientCheckpointingLayer<Lfm2DecoderLayer<FeedForward>> {
 public:
  template <class Settings>
  Lfm2DecoderLayer(const nn::Scope& scope, const Settings& c, nn::ListIndex layer)
      : nn::GradientCheckpointingLayer<Lfm2DecoderLayer>(scope) {
    if (c.attends(layer))
      self_attn_.emplace(scope / "self_attn", c, layer);
    else
      conv_.emplace(scope / "conv", c);
    feed_forward_.emplace(scope / "feed_forward", c, layer);
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
  std::optional<FeedForward> feed_forward_;
  std::optional<LlamaRMSNorm> operator_norm_, ffn_norm_;
};

struct Lfm2PartsBase {
  static constexpr const char* kNorm = "embedding_norm";
  static constexpr Rotary kRotary = Rotary::before_norm;
  static constexpr const Change& kOneRopeSince = changes::kLfm2HasOneRope;
  static Tensor position_ids(const Tensor& x) { return position_ids_for(x); }
  template <class Layer, class Settings>
  static void init_weights(const Layer&, const Settings&, DType) {}
};

/// LFM2's own configuration, whose MLP may be two thirds as wide as the file says.
struct Lfm2Config : Lfm2LayersConfig {
  Lfm2Config(const Config& c, const ModelOptions& options);

 private:
  /// Takes two thirds, times a factor, and rounds up to a multiple of a block.
  void adjust_intermediate_size(const Config& c);
};

struct Lfm2Parts : Lfm2PartsBase {
  using Settings = Lfm2Config;
  using DecoderLayer = Lfm2DecoderLayer<Lfm2MLP>;
};

}  // namespace memtape::family
