// SPDX-License-Identifier: Apache-2.0
// The layers of Cohere's models: layer norms spelled out in float32, neighbours rotated instead of
// halves, attention and MLP side by side on the same input; mirroring transformers 5.17
// models/cohere/modular_cohere.py and models/cohere2/modular_cohere2.py.
#pragma once

#include <optional>
#include <tuple>

#include "family/models/gemma.h"
#include "family/parts/decoder.h"
#include "family/parts/llama_layer.h"
#include "ghost/locals.h"
#include "ghost/ops/pointwise.h"

namespace memtape::family {

class CohereLayerNorm : public nn::Module<CohereLayerNorm> {
 public:
  CohereLayerNorm(const nn::Scope& scope, const Dims& hidden_size)
      : Module(scope), weight_(scope.parameter("weight", hidden_size)) {}
  CohereLayerNorm(const nn::Scope& scope, std::int64_t hidden_size)
      : CohereLayerNorm(scope, Dims{hidden_size}) {}

  Tensor forward(const Tensor& x) {
    const DType input_dtype = x.dtype();
    Tensor hidden_states = x.to_float();
    const Tensor mean = hidden_states.mean(-1, true);
    const Tensor variance = hidden_states.sub(mean).pow(2).mean(-1, true);
    hidden_states = hidden_states.sub(mean).mul(ghost::rsqrt(variance.add(1e-5)));
    hidden_states = weight_.to_float().mul(hidden_states);
    return hidden_states.to(input_dtype);
  }

 private:
  Tensor weight_;
};

/// Normalizes the heads of q and k if the settings' use_qk_norm says so. A layer rotates if the
/// settings' rotates(layer) says so.
struct CohereSteps {
  template <class Settings>
  CohereSteps(const nn::Scope& scope, const Settings& c, std::int64_t layer)
      : rotates(c.rotates(layer)) {
    if (c.use_qk_norm)
      norms.emplace(scope, Dims{c.num_attention_heads, c.head_dim},
                    Dims{c.num_key_value_heads, c.head_dim}, NormNames());
  }
  void heads(Tensor& q, Tensor& k) {
    if (norms) (*norms)(q, k);
  }
  void operator()(Tensor& q, Tensor& k, const CosSin& cos_sin) const {
    if (rotates) std::tie(q, k) = apply_interleaved_rotary_pos_emb(q, k, cos_sin);
  }
  bool rotates;
  std::optional<NormPair<CohereLayerNorm>> norms;
};

/// A layer with attention and MLP side by side.
template <class Mlp = LlamaMLP, class Norm = CohereLayerNorm>
class CohereDecoderLayer : public nn::GradientCheckpointingLayer<CohereDecoderLayer<Mlp, Norm>> {
 public:
  template <class Settings>
  CohereDecoderLayer(const nn::Scope& scope, const Settings& c, nn::ListIndex layer)
      : nn::GradientCheckpointingLayer<CohereDecoderLayer>(scope),
        sliding_mask_(c, layer),
        self_attn_(scope / "self_attn", c, layer),
        mlp_(layer_part<Mlp>(scope / "mlp", c, layer)),
        input_layernorm_(scope / "input_layernorm", c.hidden_size) {}

  Tensor forward(const Tensor& residual, const Tensor& attention_mask,
                 const CosSin& position_embeddings, const Tensor&) {
    const std::optional<SlidingLayerMask> own_mask = sliding_mask_.of(attention_mask);
    Tensor hidden_states = input_layernorm_(residual);
    Tensor hidden_states_attention = self_attn_(
        hidden_states, own_mask ? own_mask->attention_mask : attention_mask, position_embeddings);
    Tensor hidden_states_mlp = mlp_(hidden_states);
    hidden_states = residual.add(hidden_states_attention).add(hidden_states_mlp);
    ghost::leave(hidden_states_attention, hidden_states_mlp);
    return hidden_states;
  }

 private:
  OwnSlidingMask sliding_mask_;
  AttentionOf<CohereSteps> self_attn_;
  Mlp mlp_;
  Norm input_layernorm_;
};

}  // namespace memtape::family
