// SPDX-License-Identifier: Apache-2.0
// Attention (vllm/model_executor/layers/attention/attention.py): the kernel's output, the four
// scales, and what the layer asks of the KV cache. The profile run has no metadata, so the kernels
// themselves are skipped there. AttentionBlock is the part of a decoder layer that most models
// share: fused qkv, norms of queries and keys, rotation, attention and the output projection.
#pragma once

#include <memory>
#include <optional>

#include "framework/vllm/layers/linear.h"
#include "framework/vllm/layers/norms.h"
#include "framework/vllm/layers/rotary.h"

namespace memtape::vllm {

/// The buffers _k_scale, _v_scale, _q_scale and _prob_scale of an attention layer. If a checkpoint
/// brings scales, parameters hold them while it is loaded.
void make_kv_scales(const Place& place);

struct AttentionOptions {
  static constexpr std::int64_t kFull = -1;
  std::int64_t window = 0;  ///< 0: what the configuration says for all layers
  std::int64_t head_size_v = 0;
  bool chunked_local = false;
  bool shares_cache = false;  ///< it reads the keys and values of another layer
};

class Attention : public nn::Module<Attention> {
 public:
  Attention(const Place& place, const Heads& heads, const AttentionOptions& options = {});
  /// `query` is [tokens, heads * size] or has one more dimension.
  Tensor forward(const Tensor& query);

 private:
  void run_kernel(const Dims& sizes, DType dtype) const;

  Runtime& runtime_;
  std::int64_t heads_, size_v_;
  bool quantizes_query_;
};

struct AttentionBlockOptions {
  bool qkv_bias = false, output_bias = false;
  bool qk_norm = false;    ///< head by head, after the projection
  bool norm_last = false;  ///< q_norm and k_norm are made after the attention (Qwen3)
  NormKind norm = NormKind::rms;
  bool rope = true, sinks = false;
  bool rope_first = false;  ///< the rope and the sinks are made before the
                            ///< projections (gpt-oss)
  std::int64_t window = 0;
  std::string layer_type{};                       ///< the key of its rope in the configuration
  std::int64_t default_max_position = 8192;       ///< used if the configuration does not say it
  std::optional<double> partial_rotary_factor{};  ///< used if the configuration says none
  /// Heads lie group by group, so queries, keys and values are copied (InternLM 2).
  bool copies_parts = false;
  bool full_width_norms = false;  ///< qk_norm over all heads at once (OLMoE, MiniMax-M2)
  bool float32_norms = false;     ///< they are written as float32 ops (rms_norm_tp.py of MiniMax)
  const char* names[3] = {"qkv_proj", "o_proj", "attn"};
  bool reduce_results = true;
};

class AttentionBlock : public nn::Module<AttentionBlock> {
 public:
  AttentionBlock(const Place& place, std::int64_t hidden, const Heads& heads,
                 const AttentionBlockOptions& options);
  Tensor forward(const Tensor& hidden_states);
  /// EAGLE-3 replaces the projection by one with a wider input.
  void widen_input(const Place& place, std::int64_t width, bool bias);
  Runtime& runtime() const { return qkv_proj_->runtime(); }

 private:
  void make_norms(const Place& place, const AttentionBlockOptions& options);
  void make_rope(const Place& place, const AttentionBlockOptions& options);

  Heads heads_;
  /// rms_norm_tp.py: both are normed in float32 before either is cast back. With several ranks, it
  /// is one kernel.
  void normalize_in_float32(Tensor& q, Tensor& k) const;

  bool copies_parts_, full_width_norms_, float32_norms_;
  std::unique_ptr<Linear> qkv_proj_, o_proj_, replaced_;
  std::unique_ptr<RMSNorm> q_norm_, k_norm_;
  std::shared_ptr<RotaryEmbedding> rotary_;
  Tensor sinks_;
  std::unique_ptr<Attention> attn_;
};

}  // namespace memtape::vllm
