// SPDX-License-Identifier: Apache-2.0
// RotaryEmbedding, the module that families share, and the functions that rotate q and k with its
// cos and sin.
#pragma once

#include <deque>
#include <string>
#include <utility>

#include "family/parts/rope_parameters.h"

namespace memtape::family {

using CosSin = std::pair<Tensor, Tensor>;

/// The angles [..., S, frequencies] of positions [..., S], and the tensors that live as long.
struct RotaryAngles {
  Tensor freqs, inv_freq_expanded, position_ids_expanded;
};
RotaryAngles rotary_angles(const Tensor& position_ids, const Tensor& inv_freq);

class RotaryEmbedding : public nn::Module<RotaryEmbedding> {
 public:
  /// `prefix` is put before the names of its buffers.
  RotaryEmbedding(const nn::Scope& scope, const RopeParameters& rope,
                  const std::string& prefix = {});
  /// cos and sin [B, S, dim] in x's dtype.
  CosSin forward(const Tensor& x, const Tensor& position_ids);
  /// _init_weights computes the frequencies once more and copies them into the buffers.
  void init_weights() const;

  /// Runs first in forward: some types compute the frequencies anew. Where a forward does that in
  /// its own body (Phi-3's before 4.48), what they are made of lives until it ends.
  LongRope update_frequencies(const Tensor& position_ids);
  const Tensor& inv_freq() const { return inv_freq_; }

 protected:
  /// Sets inv_freq to newly computed frequencies, or to those kept as original_inv_freq.
  void register_new_inv_freq() { register_inv_freq(compute_inv_freq(rope_)); }
  void register_original_inv_freq();
  /// Chooses between the two kinds of frequencies of a longrope that keeps both.
  void choose_frequencies(const Tensor& seq_len);
  const RopeParameters& rope() const { return rope_; }

 private:
  void register_inv_freq(const Tensor& inv_freq);
  void update_dynamic_frequencies(const Tensor& position_ids);
  void update_long_frequencies(const Tensor& seq_len);

  RopeParameters rope_;
  std::size_t buffer_;  ///< which of the module's buffers inv_freq is
  Tensor inv_freq_, original_inv_freq_;
  Tensor long_inv_freq_;       ///< of a longrope that keeps them
  std::int64_t grown_to_ = 0;  ///< tokens that a dynamic type has grown to
  Tensor max_seq_len_cached_;  ///< where it has grown; else it is a number
};

/// cos and sin for each layer type in use.
struct LayerCosSin {
  CosSin full_attention, sliding_attention;
};

/// What a layer of that type gets.
inline const CosSin& of_layer(const CosSin& all, LayerType) { return all; }
inline const CosSin& of_layer(const LayerCosSin& all, LayerType type) {
  return type == LayerType::full_attention ? all.full_attention : all.sliding_attention;
}

/// Olmo3RotaryEmbedding, Gemma3RotaryEmbedding: frequencies for each layer type in one module.
class LayerTypeRotaryEmbedding : public nn::Module<LayerTypeRotaryEmbedding> {
 public:
  LayerTypeRotaryEmbedding(const nn::Scope& scope, const LayerRopes& ropes);
  LayerCosSin forward(const Tensor& x, const Tensor& position_ids);
  void init_weights() const;

 private:
  LayerRopes ropes_;
  std::deque<RotaryEmbedding> embeddings_;  ///< one per type in `ropes_`
};

/// cat((-x2, x1)) of the two halves of the last dimension.
Tensor rotate_half(const Tensor& x);

/// stack((-x2, x1)) of the odd and even places of the last dimension, flattened again.
Tensor rotate_every_two(const Tensor& x);

/// Rotates q and k [B, H, S, D]; cos and sin are [B, S, D].
std::pair<Tensor, Tensor> apply_rotary_pos_emb(const Tensor& q, const Tensor& k,
                                               const CosSin& cos_sin);
/// The same for heads at dimension `unsqueeze_dim`.
std::pair<Tensor, Tensor> apply_rotary_pos_emb_along(const Tensor& q, const Tensor& k,
                                                     const CosSin& cos_sin, int unsqueeze_dim);

/// cat((first * cos - second * sin, second * cos + first * sin)).
Tensor join_rotated(const Tensor& first, const Tensor& second, const Tensor& cos,
                    const Tensor& sin);

/// DeepSeek-V3's: rotates even and odd places and puts them side by side.
std::pair<Tensor, Tensor> apply_rotary_pos_emb_interleave(const Tensor& q, const Tensor& k,
                                                          const CosSin& cos_sin);
std::pair<Tensor, Tensor> apply_rotary_pos_emb_interleave_along(const Tensor& q, const Tensor& k,
                                                                const CosSin& cos_sin,
                                                                int unsqueeze_dim);

/// Like apply_rotary_pos_emb, but cast back to the dtypes of q and k (for families whose cos and
/// sin stay float32).
std::pair<Tensor, Tensor> apply_rotary_pos_emb_in_float(const Tensor& q, const Tensor& k,
                                                        const CosSin& cos_sin);

/// Cohere's: rotates neighbours instead of halves, in float32, and casts back to q's dtype.
std::pair<Tensor, Tensor> apply_interleaved_rotary_pos_emb(const Tensor& q, const Tensor& k,
                                                           const CosSin& cos_sin);

/// Rotates the first cos.size(-1) dimensions of each head, passes the rest on, and joins both by
/// cat.
std::pair<Tensor, Tensor> apply_partial_rotary_pos_emb(const Tensor& q, const Tensor& k,
                                                       const CosSin& cos_sin);

/// The same, but it joins after both q and k are rotated (GPT-NeoX and later).
std::pair<Tensor, Tensor> apply_rotary_pos_emb_to_part(const Tensor& q, const Tensor& k,
                                                       const CosSin& cos_sin);

/// The same in place: q and k become the joined ones. The rotated dimensions and the rest are
/// returned, for families whose attention keeps all four alive.
struct PartlyRotated {
  Tensor query_rot, query_pass, key_rot, key_pass;
};
[[nodiscard]] PartlyRotated rotate_part_in_place(Tensor& query_states, Tensor& key_states,
                                                 const CosSin& cos_sin);

}  // namespace memtape::family
