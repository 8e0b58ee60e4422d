// SPDX-License-Identifier: Apache-2.0
// Hyperparameters: what llama.cpp reads from a model's metadata (llama-hparams.h), as far as it
// decides shapes. Those that every architecture has are read here; each architecture reads its own
// in addition.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "framework/llamacpp/metadata.h"

namespace memtape::llamacpp {

enum class Gating : std::uint8_t { none, softmax, sigmoid, softmax_weight };

struct Hyperparameters {
  std::string arch;
  std::int64_t n_token_types = 0, n_vocab = 0, n_ctx_train = 0, n_embd = 0;
  std::int64_t n_layer_all = 0, n_layer_nextn = 0;
  std::vector<std::int64_t> head, head_kv, ff, ff_exp;  ///< for each layer
  std::int64_t head_k = 0, head_v = 0, n_rot = 0;
  std::int64_t head_k_swa = 0, head_v_swa = 0;  ///< in layers with a window; 0: as in the others
  std::int64_t n_ctx_orig = 0;
  bool longrope = false;

  std::int64_t n_expert = 0, n_expert_used = 0, n_expert_shared = 0, n_expert_groups = 0;
  std::int64_t n_group_used = 0, n_ff_shexp = 0, n_layer_dense_lead = 0, expert_layer_step = 0;
  bool expert_weights_norm = false, expert_bias = false;
  double expert_weights_scale = 0;
  Gating gating = Gating::none;

  std::int64_t n_lora_q = 0, n_lora_kv = 0, head_k_mla = 0, head_v_mla = 0;

  std::int64_t n_swa = 0;
  bool swa = false;             ///< some layers have a window
  std::vector<bool> swa_layer;  ///< for each layer
  std::vector<bool> recurrent;  ///< for each layer
  /// For each layer; if it is empty, all layers that are not recurrent have attention.
  std::vector<bool> attention;
  std::int64_t n_layer_kv_from_start = -1;
  std::int64_t no_rope_step = 0;  ///< one layer in this many has no rotation; 0: all rotate
  /// Only layers with a window rotate, if there are such layers.
  bool rotates_windows_only = false;
  bool parallel_residual = true;  ///< for gptneox

  std::int64_t ssm_conv = 0, ssm_inner = 0, ssm_state = 0, ssm_dt_rank = 0, ssm_groups = 0;
  bool ssm_dt_b_c_rms = false;
  std::int64_t n_shortconv = 0, n_latent_expert = 0;
  std::int64_t wkv_head = 0, token_shifts = 0, rescale_every = 0;  ///< for RWKV
  std::int64_t n_lora_decay = 0, n_lora_rate = 0, n_lora_value = 0, n_lora_gate = 0, n_lora_mix = 0;
  std::int64_t kda_head = 0;  ///< delta attention with a decay for each channel
  std::int64_t indexer_heads = 0, indexer_head = 0, indexer_top_k = 0;
  std::int64_t relative_buckets = 0;  ///< for T5
  std::vector<bool> indexes;          ///< for each layer: it chooses itself at which cells it looks
  std::int64_t n_embd_per_layer = 0;  ///< the width of each layer's part of a second embedding

  bool causal = true;
  std::int64_t pooling = 0;   ///< the file's pooling_type
  bool no_cache = false;      ///< attention sees only the batch
  bool has_encoder = false;   ///< rows of output are reserved for a whole batch
  bool unused_cache = false;  ///< there is a cache all the same
  bool embeds = false;        ///< the results are embeddings and not logits
  bool attn_soft_cap = false;
  bool never_flash = false;      ///< flash attention is switched off for this kind of model
  bool mrope = false;            ///< a token has four positions
  std::int64_t n_deepstack = 0;  ///< the number of layers to which image features are added
  double clamp_kqv = 0, max_alibi_bias = 0, embedding_scale = 0, residual_scale = 0;
  double attn_value_scale = 0;  ///< scales the output of attention
  double logit_scale = 0, final_logit_softcapping = 0, attn_temp_scale = 0;
  bool usually_tied = false;  ///< models of this kind usually have no output matrix of their own
  bool is_70b = false;        ///< llama-quantize gives better types to the values of these models

  std::int64_t n_layer() const { return n_layer_all - n_layer_nextn; }
  std::int64_t n_head(std::int64_t il = 0) const { return head[static_cast<std::size_t>(il)]; }
  std::int64_t n_head_kv(std::int64_t il = 0) const {
    return head_kv[static_cast<std::size_t>(il)];
  }
  std::int64_t n_ff(std::int64_t il = 0) const { return ff[static_cast<std::size_t>(il)]; }
  std::int64_t n_ff_exp(std::int64_t il = 0) const { return ff_exp[static_cast<std::size_t>(il)]; }
  std::int64_t n_gqa() const { return n_head_kv() > 0 ? n_head() / n_head_kv() : 0; }
  std::int64_t k_head(std::int64_t il) const {
    return head_k_swa > 0 && is_swa(il) ? head_k_swa : head_k;
  }
  std::int64_t v_head(std::int64_t il) const {
    return head_v_swa > 0 && is_swa(il) ? head_v_swa : head_v;
  }
  std::int64_t k_gqa(std::int64_t il = 0) const { return k_head(il) * n_head_kv(il); }
  std::int64_t v_gqa(std::int64_t il = 0) const { return v_head(il) * n_head_kv(il); }
  std::int64_t v_gqa_max() const;
  bool is_mla() const { return head_k_mla != 0 && head_v_mla != 0; }
  bool is_swa(std::int64_t il) const { return swa_layer[static_cast<std::size_t>(il)]; }
  bool is_recurrent(std::int64_t il) const { return recurrent[static_cast<std::size_t>(il)]; }
  bool has_experts(std::int64_t il) const {
    return n_expert > 0 && il >= n_layer_dense_lead &&
           (expert_layer_step <= 1 || (il + 1) % expert_layer_step == 0);
  }
  bool has_attention(std::int64_t il) const {
    return attention.empty() ? !is_recurrent(il) : attention[static_cast<std::size_t>(il)];
  }
  bool has_kv(std::int64_t il) const {
    return n_layer_kv_from_start < 0 || il < n_layer_kv_from_start;
  }

  /// Whether recurrent states can go back by a few tokens (llama-arch.cpp,
  /// llm_arch_supports_rs_rollback).
  bool keeps_snapshots() const { return arch == "qwen35" || arch == "qwen35moe"; }

  /// The elements of a layer's convolution states and scan states, for each sequence.
  std::int64_t n_embd_r() const;
  std::int64_t n_embd_s() const;

  /// Reads the key of the pattern, which is a list or a period; `period` replaces a key that is
  /// missing. Of that many layers, the last one has full attention, or with `dense_first` the first
  /// one.
  void read_swa_pattern(KeyReader& keys, std::int64_t period, bool dense_first = false);
};

/// Reads the keys that all architectures share.
Hyperparameters read_common(KeyReader& keys, std::string arch);

}  // namespace memtape::llamacpp
