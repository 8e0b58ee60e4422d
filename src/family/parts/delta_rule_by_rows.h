// SPDX-License-Identifier: Apache-2.0
// torch_chunk_gated_delta_rule as it was before it solved a triangular system
// (models/qwen3_next/modeling_qwen3_next.py): the rows of each chunk one after the other.
#pragma once

#include "ghost/tensor.h"

namespace memtape::family {

/// The function's arguments [B, S, H, ...], and its locals of the same names.
struct DeltaRuleByRows {
  ghost::Tensor query, key, value, g, beta;
  ghost::Tensor last_recurrent_state = {};

  /// `keeps_state`: output_final_state.
  ghost::Tensor run(bool keeps_state);

  void prepare();
  void pad_and_chunk();
  void solve_rows();
  ghost::Tensor last_of_chunk(std::int64_t i) const;
  ghost::Tensor scan();

  ghost::Tensor v_beta = {}, k_beta = {}, mask = {}, decay_mask = {}, attn = {}, row = {}, sub = {},
                k_cumdecay = {}, q_i = {}, k_i = {}, v_i = {}, v_prime = {}, v_new = {},
                attn_inter = {};
};

/// Inverts a chunk's triangular system [..., C, C] row by row in place, adds the identity and leaves
/// the last row and what is above it in the caller's locals.
void invert_row_by_row(ghost::Tensor& attn, ghost::Tensor& row, ghost::Tensor& sub);

// What delta rules whose rows are inverted one after the other have in common.

inline constexpr std::int64_t kRowsChunk = 64;  ///< tokens

/// [B, S, H, ...] as float32 [B, H, S, ...].
ghost::Tensor packed_by_head(const ghost::Tensor& x);
/// [B, H, S, D] as [B, H, chunks, C, D].
ghost::Tensor chunked(const ghost::Tensor& x);
/// The triangle of a chunk from that diagonal on, [C, C], boolean.
ghost::Tensor chunk_triangle(int diagonal);
/// [B, H, chunks, C, D] as [B, S, H, D] of the tokens that are there.
ghost::Tensor out_of_chunks(ghost::Tensor x, std::int64_t sequence_length, DType dtype);

/// l2norm(x, dim=-1, eps=1e-6)
ghost::Tensor l2norm(const ghost::Tensor& x);

}  // namespace memtape::family
