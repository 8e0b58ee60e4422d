// SPDX-License-Identifier: Apache-2.0
// Inverse frequencies of rotary embeddings, mirroring transformers 5.17 modeling_rope_utils.py
// (ROPE_INIT_FUNCTIONS). They are small, but they are allocated on the GPU while the model is built
// and, for some types, in every forward.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "family/pretrained.h"

namespace memtape::family {

enum class RopeType { standard, linear, dynamic, yarn, longrope, llama3, proportional };

/// config.rope_parameters (or rope_theta and rope_scaling of older configurations).
struct RopeParameters {
  RopeType rope_type = RopeType::standard;
  std::int64_t dim = 0;          ///< of a head, times partial_rotary_factor
  std::int64_t rotated_dim = 0;  ///< of a proportional rope: the rest of `dim` stands still
  bool is_complex = false;       ///< complex numbers instead of cos and sin (DeepSeek-V2)
  bool keeps_float32 = false;    ///< cos and sin stay float32 whatever the model's dtype
  bool interleaved =
      false;                ///< each frequency twice in a row instead of all of them twice (Cohere)
  bool half_width = false;  ///< each frequency once (GPT-OSS, DeepSeek-V4)
  bool keeps_original = true;  ///< the first frequencies are a buffer of their own (not ESM's)
  std::int64_t max_position_embeddings =
      0;  ///< of a dynamic type, which grows for longer sequences; 0: as many as there are tokens
};

/// The type that `settings` name as rope_type or type, or `otherwise`.
RopeType rope_type_of(const Config& settings, RopeType otherwise);

/// Reads the rotary embedding of a model whose heads are `head_dim` wide. `partial_key` is the key
/// by which older configurations of the family say which part of a head is rotated.
RopeParameters rope_parameters(const Config& config, std::int64_t head_dim,
                               const char* partial_key = "partial_rotary_factor",
                               double otherwise = 1.0);

enum class LayerType { full_attention, sliding_attention };

/// The rotary embeddings of a model in which each layer type has its own: the types in use, in the
/// order of their names.
struct LayerRopes {
  struct Of {
    LayerType type;
    RopeParameters rope;
  };
  std::vector<Of> types;
};

/// convert_rope_params_to_dict of Olmo3Config and Gemma3TextConfig: rope_parameters by layer type.
/// The rope_scaling of older configurations is for full attention.
LayerRopes layer_ropes(const Config& config, std::int64_t head_dim,
                       std::span<const LayerType> layer_types);

/// The rope of one layer type, whose settings may name less than its type and the part of a head
/// that it turns: proportional ones turn a part and leave zeros for the rest (Gemma 4, LFM3).
RopeParameters layer_type_rope(const Config& settings, std::int64_t head_dim, RopeType otherwise,
                               double partial);

/// The inverse frequencies of the type: [dim / 2] float32.
Tensor compute_inv_freq(const RopeParameters& rope);

/// _compute_longrope_parameters: the frequencies, and what they are made of.
struct LongRope {
  Tensor ext_factors, inv_freq_shape, inv_freq;
};
LongRope long_rope(std::int64_t dim);

/// The frequencies of a dynamic type that has grown to `seq_len`, an int64 number on the device.
Tensor grown_dynamic_inv_freq(const RopeParameters& rope, const Tensor& seq_len);

}  // namespace memtape::family
