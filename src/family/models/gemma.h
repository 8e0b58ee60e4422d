// SPDX-License-Identifier: Apache-2.0
// What the Gemma models share: norms that multiply by 1 + weight, an embedding scaled by a number
// on the GPU, and, from Gemma 2 on, layers with a norm before and after each branch; mirroring
// transformers 5.17 models/gemma/modular_gemma.py and models/gemma2/modular_gemma2.py.
#pragma once

#include <optional>

#include "family/masks/update_causal_mask.h"
#include "family/parts/decoder.h"
#include "family/parts/llama_layer.h"
#include "nn/checkpointing.h"

namespace memtape::family {

class GemmaRMSNorm : public nn::Module<GemmaRMSNorm> {
 public:
  GemmaRMSNorm(const nn::Scope& scope, std::int64_t dim);
  Tensor forward(const Tensor& x);

 private:
  Tensor weight_;
};

/// An embedding times a number. The number lies on the GPU in the model's dtype or in its own;
/// without a dtype it is a number of the host.
class GemmaTextScaledWordEmbedding : public nn::Embedding {
 public:
  GemmaTextScaledWordEmbedding(const nn::Scope& scope, std::int64_t count, std::int64_t dim);
  GemmaTextScaledWordEmbedding(const nn::Scope& scope, std::int64_t count, std::int64_t dim,
                               std::optional<DType> scale_dtype);
  Tensor operator()(const Tensor& input_ids);

 private:
  Tensor embed_scale_;
  bool scales_ = true;
};

/// The embedding of Gemma and Gemma 2. Before transformers 5.4 a number of the host scales it.
class GemmaWordEmbedding : public GemmaTextScaledWordEmbedding {
 public:
  GemmaWordEmbedding(const nn::Scope& scope, std::int64_t count, std::int64_t dim);
};

/// Scales the embeddings if the model itself does that and not its embedding.
void scale_before_layers(Tensor& hidden_states);

/// The defaults in which Gemma2Config and its heir Gemma3TextConfig differ.
struct Gemma2Defaults {
  std::int64_t vocab_size;
  std::optional<double> attn_logit_softcapping = std::nullopt,
                        final_logit_softcapping = std::nullopt;
};

/// Reads everything except the layer types.
struct Gemma2Config : DecoderConfig {
  Gemma2Config(const Config& c, const ModelOptions& options, const Gemma2Defaults& defaults);
  std::optional<double> final_logit_softcapping;
};

DecoderConfig gemma_config(const Config& c, const ModelOptions& options);
Gemma2Config gemma2_config(const Config& c, const ModelOptions& options);

/// Passes the logits through a tanh of that height.
void softcap_logits(Tensor& logits, const std::optional<double>& height);

/// Before masking_utils.py a model made one mask, whatever its attention, and each sliding layer
/// one of its own.
bool sliding_layers_make_masks();
LayerMasks gemma2_masks(const DecoderConfig& c, const Tensor& attention_mask,
                        const Tensor& inputs_embeds, const Tensor& position_ids,
                        bool one_more_key = false);

/// What a layer makes of the model's mask where sliding layers make masks.
class OwnSlidingMask {
 public:
  OwnSlidingMask(const DecoderConfig& c, std::int64_t layer)
      : slides_(c.attention != AttentionImplementation::flash &&
                c.layer_type(layer) == LayerType::sliding_attention),
        sliding_window_(c.sliding_window.value_or(0)) {}

  std::optional<SlidingLayerMask> of(const Tensor& attention_mask) const {
    if (!slides_ || !attention_mask.defined() || !sliding_layers_make_masks()) return {};
    return SlidingLayerMask(attention_mask, sliding_window_);
  }

 private:
  bool slides_;
  std::int64_t sliding_window_;
};

/// x + norm(attention(norm(x))), then x + norm(mlp(norm(x))).
template <class Attention>
class Gemma2DecoderLayer : public nn::GradientCheckpointingLayer<Gemma2DecoderLayer<Attention>> {
 public:
  Gemma2DecoderLayer(const nn::Scope& scope, const DecoderConfig& c, nn::ListIndex layer)
      : nn::GradientCheckpointingLayer<Gemma2DecoderLayer>(scope),
        sliding_mask_(c, layer),
        self_attn_(scope / "self_attn", c),
        mlp_(scope / "mlp", c),
        input_layernorm_(scope / "input_layernorm", c.hidden_size),
        post_attention_layernorm_(scope / "post_attention_layernorm", c.hidden_size),
        pre_feedforward_layernorm_(scope / "pre_feedforward_layernorm", c.hidden_size),
        post_feedforward_layernorm_(scope / "post_feedforward_layernorm", c.hidden_size) {}

  Tensor forward(const Tensor& x, const Tensor& attention_mask, const CosSin& position_embeddings,
                 const Tensor&) {
    const std::optional<SlidingLayerMask> own_mask = sliding_mask_.of(attention_mask);
    Tensor residual = x;
    Tensor hidden_states = input_layernorm_(x);
    hidden_states = self_attn_(hidden_states, own_mask ? own_mask->attention_mask : attention_mask,
                               position_embeddings);
    hidden_states = post_attention_layernorm_(hidden_states);
    hidden_states = residual.add(hidden_states);

    residual = hidden_states;
    hidden_states = pre_feedforward_layernorm_(hidden_states);
    hidden_states = mlp_(hidden_states);
    hidden_states = post_feedforward_layernorm_(hidden_states);
    return residual.add(hidden_states);
  }

 private:
  OwnSlidingMask sliding_mask_;
  Attention self_attn_;
  LlamaMLP mlp_;
  GemmaRMSNorm input_layernorm_, post_attention_layernorm_, pre_feedforward_layernorm_,
      post_feedforward_layernorm_;
};

struct GemmaParts : DecoderParts {
  using DecoderLayer = PreNormDecoderLayer<LlamaAttention, LlamaMLP, GemmaRMSNorm>;
  using Norm = GemmaRMSNorm;
  using Embedding = GemmaWordEmbedding;
  static void scale_hidden_states(Tensor& x) { scale_before_layers(x); }
};

/// Since kGemma2CallsFunctions the names of its keys and values are not their repetitions'.
struct Gemma2Steps : Rotated<apply_rotary_pos_emb> {
  using Rotated::Rotated;
  static Tensor attend(const AttentionCall& call, Tensor& q, Tensor& k, Tensor& v,
                       const Tensor& attention_mask) {
    return ghost::has(changes::kGemma2CallsFunctions)
               ? attention_interface(call, q, k, v, attention_mask)
               : written_out_attention(call, q, k, v, attention_mask);
  }
};

struct Gemma2Parts : DecoderParts {
  using Settings = Gemma2Config;
  using DecoderLayer = Gemma2DecoderLayer<AttentionOf<Gemma2Steps>>;
  using Norm = GemmaRMSNorm;
  using Embedding = GemmaWordEmbedding;
  static void scale_hidden_states(Tensor& x) { scale_before_layers(x); }
  static LayerMasks make_masks(const DecoderConfig& c, const Tensor& attention_mask,
                               const Tensor& inputs_embeds, const Tensor& position_ids) {
    return gemma2_masks(c, attention_mask, inputs_embeds, position_ids);
  }
  static void cap_logits(Tensor& logits, const Gemma2Config& c) {
    softcap_logits(logits, c.final_logit_softcapping);
  }
};

/// Refuses attention to later tokens: such a model is no causal language model.
void refuse_bidirectional_attention(const Config& c);

}  // namespace memtape::family
