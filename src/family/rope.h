// SPDX-License-Identifier: Apache-2.0
// RotaryEmbedding, the module that families share, and the functions that rotate q and k with its cos and sin.
#pragma once

#include <utility>

#include "family/rope_parameters.h"

namespace memtape::family {

using CosSin = std::pair<Tensor, Tensor>;

class RotaryEmbedding : public nn::Module<RotaryEmbedding> {
 public:
  RotaryEmbedding(const nn::Scope& scope, const RopeParameters& rope);
  /// cos and sin [B, S, dim] in x's dtype.
  CosSin forward(const Tensor& x, const Tensor& position_ids);
  /// _init_weights computes the frequencies once more and copies them into the buffers.
  void init_weights() const;

 private:
  /// dynamic_rope_update's decorator: some types look at the positions and compute the frequencies again.
  void update_frequencies(const Tensor& position_ids);
  void register_inv_freq(const Tensor& inv_freq);

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
