// SPDX-License-Identifier: Apache-2.0
// Rotary embeddings: modeling_rope_utils.py and the RotaryEmbedding module that families share.
#pragma once

#include <string>
#include <utility>

#include "family/pretrained.h"

namespace memtape::family {

/// config.rope_parameters (or rope_theta and rope_scaling of older configurations).
struct RopeParameters {
  std::string rope_type = "default";
  std::int64_t dim = 0;          ///< of a head, times partial_rotary_factor
  bool keeps_float32 = false;    ///< cos and sin stay float32 whatever the model's dtype
};

/// Reads the rope of a model whose heads are `head_dim` wide.
RopeParameters rope_parameters(const Config& config, std::int64_t head_dim);

using CosSin = std::pair<Tensor, Tensor>;

class RotaryEmbedding : public nn::Module<RotaryEmbedding> {
 public:
  RotaryEmbedding(const nn::Scope& scope, const RopeParameters& rope);
  /// cos and sin [B, S, dim] in x's dtype.
  CosSin forward(const Tensor& x, const Tensor& position_ids);
  /// _init_weights computes the frequencies once more and copies them into the buffers.
  void init_weights() const;

 private:
  RopeParameters rope_;
  Tensor inv_freq_, original_inv_freq_;
};

/// cat((-x2, x1)) of the two halves of the last dimension.
Tensor rotate_half(const Tensor& x);

/// q and k [B, H, S, D] rotated; cos and sin [B, S, D].
std::pair<Tensor, Tensor> apply_rotary_pos_emb(const Tensor& q, const Tensor& k, const CosSin& cos_sin);

/// The same, cast back to the dtypes of q and k (families whose cos and sin stay float32).
std::pair<Tensor, Tensor> apply_rotary_pos_emb_in_float(const Tensor& q, const Tensor& k, const CosSin& cos_sin);

/// The first cos.size(-1) dimensions of each head rotated, the rest passed on, both joined by cat.
std::pair<Tensor, Tensor> apply_partial_rotary_pos_emb(const Tensor& q, const Tensor& k, const CosSin& cos_sin);

}  // namespace memtape::family
