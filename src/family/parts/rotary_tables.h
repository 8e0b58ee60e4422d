// SPDX-License-Identifier: Apache-2.0
// RotaryTables: cos and sin of all positions as buffers of an attention, which Llama, Mistral,
// Qwen2 and Mixtral looked up before they computed them: LlamaRotaryEmbedding of transformers 4.37
// (models/llama/modeling_llama.py), cos_cached and sin_cached.
#pragma once

#include "family/parts/rope.h"

namespace memtape::family {

/// Makes the tables [positions, dim] beside inv_freq as buffers of that place, in the dtype in which
/// the model's parameters are made.
CosSin add_rotary_tables(const nn::Scope& scope, const RopeParameters& rope, const Tensor& inv_freq,
                         std::int64_t positions, DType dtype);

class RotaryTables : public nn::Module<RotaryTables> {
 public:
  RotaryTables(const nn::Scope& scope, const RopeParameters& rope, std::int64_t positions);
  /// The first rows, cast to the dtype of `values` [B, H, S, D]. More tokens than rows grow the
  /// tables.
  CosSin forward(const Tensor& values);

 private:
  nn::Scope scope_;
  RopeParameters rope_;
  Tensor inv_freq_;
  CosSin tables_;
};

/// cos[position_ids] and sin[position_ids], [1, S, D].
CosSin look_up(const CosSin& rows, const Tensor& position_ids);

}  // namespace memtape::family
