// SPDX-License-Identifier: Apache-2.0
// Steps that more than one family adds to a decoder's attention (family/parts/attention_of.h).
#pragma once

#include "family/parts/attention_of.h"
#include "ghost/ops/dropout.h"
#include "ghost/ops/pointwise.h"

namespace memtape::family {

/// Rotates, and applies the settings' residual_dropout behind the output projection (StarCoder2,
/// Seed-OSS).
struct ResidualDropout : Rotated<apply_rotary_pos_emb> {
  static constexpr bool kAddedMaskInPlace = true;  // StarCoder2's
  template <class Settings>
  ResidualDropout(const nn::Scope& scope, const Settings& c, std::int64_t layer)
      : Rotated(scope, c, layer), residual_dropout(c.residual_dropout) {}
  void finish(Tensor& attn_output) const {
    attn_output = ghost::dropout(attn_output, residual_dropout);
  }
  double residual_dropout;
};

/// Rotates after all three projections are taken apart into heads (GLM's mixtures).
template <Rotation rotation>
struct TakenApartThenRotated : Rotated<rotation> {
  using Rotated<rotation>::Rotated;
  void heads(Tensor&, Tensor&) const {}
};

/// Normalizes the heads of q and k as each is projected, and rotates only where a layer slides
/// (Flint, Lara Mini).
template <class Norm>
struct RotatedIfSliding {
  RotatedIfSliding(const nn::Scope& scope, const DecoderConfig& c, std::int64_t layer)
      : norms(scope, c), rotates(c.layer_type(layer) == LayerType::sliding_attention) {}
  Tensor query_heads(const Tensor& q) { return norms.q_norm(q); }
  Tensor key_heads(const Tensor& k) { return norms.k_norm(k); }
  void operator()(Tensor& q, Tensor& k, const CosSin& cos_sin) const {
    if (rotates) std::tie(q, k) = apply_rotary_pos_emb(q, k, cos_sin);
  }
  HeadNorms<Norm> norms;
  bool rotates;
};

/// Adds to other steps: clips q, k and v in place if the settings' clips_qkv says so (OLMo, OLMoE).
template <class Steps>
struct Clipped : Steps {
  template <class Settings>
  Clipped(const nn::Scope& scope, const Settings& c, std::int64_t layer)
      : Steps(scope, c, layer), clips(c.clips_qkv) {}
  void projected(Tensor& q, Tensor& k, Tensor& v) const {
    if (clips)
      for (Tensor* states : {&q, &k, &v}) ghost::clamp_(*states, -ghost::kLimit, ghost::kLimit);
  }
  bool clips;
};

}  // namespace memtape::family
