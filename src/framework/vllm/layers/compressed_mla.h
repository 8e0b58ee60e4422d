// SPDX-License-Identifier: Apache-2.0
// DeepSeek V4's attention (vllm/models/deepseek_v4/attention.py, compressor.py): one vector of keys
// and values for all heads. Every layer caches a window of them; most layers cache besides one
// vector for 4 or for 128 tokens, which a compressor makes, and where it is for 4 an indexer chooses
// among these. Each of these parts has a cache of its own, with pages of its own size.
#pragma once

#include "framework/vllm/layers/attention.h"

namespace memtape::vllm {

/// The sizes that the parts of a layer share.
struct CompressedShape {
  explicit CompressedShape(const Config& config);
  std::int64_t hidden, heads, head, rope, q_lora_rank, o_lora_rank, groups, window;
  std::int64_t index_heads, index_head;
};

/// DeepseekCompressor: keys and scores of `ratio` tokens become one vector; where it is for 4,
/// neighbours overlap.
class Compressor : public nn::Module<Compressor> {
 public:
  Compressor(const Place& place, std::int64_t hidden, std::int64_t head, std::int64_t ratio);
  /// The keys and scores, in float32.
  Tensor forward(const Tensor& hidden_states);

 private:
  std::int64_t width_;
  Linear wkv_wgate_;
  RMSNorm norm_;
};

class CompressedMlaAttention : public nn::Module<CompressedMlaAttention> {
 public:
  CompressedMlaAttention(const Place& place, std::int64_t index);
  Tensor forward(const Tensor& hidden_states);

 private:
  void make_indexer(const Place& place);
  void register_caches();
  void register_sglang_pools();
  void reserve_indexer();
  void reserve_gathered_keys();

  Runtime& runtime_;
  CompressedShape shape_;
  std::int64_t ratio_, heads_, padded_heads_;
  std::unique_ptr<Linear> wqa_wkv_, wq_b_, wo_a_, wo_b_, index_wq_b_, index_weights_;
  std::unique_ptr<RMSNorm> q_norm_, kv_norm_;
  std::unique_ptr<Compressor> compressor_, index_compressor_;
  std::shared_ptr<RotaryEmbedding> rotary_;
};

}  // namespace memtape::vllm
