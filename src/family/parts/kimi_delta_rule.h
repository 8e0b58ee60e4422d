// SPDX-License-Identifier: Apache-2.0
// Kimi Delta Attention on torch's own ops: the gated delta rule whose decays differ from channel to
// channel (chunk_kimi_delta_attention and recurrent_kimi_delta_attention of transformers 5.24
// models/bailing_hybrid/modeling_bailing_hybrid.py).
#pragma once

#include "ghost/tensor.h"

namespace memtape::family {

/// The functions' arguments [B, S, H, ...], and their locals of the same names.
struct KimiDeltaRule {
  ghost::Tensor query, key, value, g, beta;
  ghost::Tensor last_recurrent_state = {};

  /// `keeps_state`: output_final_state.
  ghost::Tensor run(bool keeps_state);
  /// Of one token.
  ghost::Tensor run_step();

  void prepare();
  void pad_and_chunk();
  void solve_rows();
  ghost::Tensor scan();

  ghost::Tensor v_beta = {}, k_beta = {}, mask = {}, strict_mask = {}, decay_mask = {}, attn = {},
                row = {}, sub = {}, k_cumdecay = {}, q_i = {}, k_i = {}, v_i = {}, g_i = {},
                attn_inter = {}, attn_intra = {}, v_prime = {}, v_new = {};
};

}  // namespace memtape::family
