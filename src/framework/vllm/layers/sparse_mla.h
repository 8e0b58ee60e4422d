// SPDX-License-Identifier: Apache-2.0
// DeepSeek's sparse attention (vllm/models/deepseek_v32/attention.py): latent attention that reads
// only the tokens which a small fp8 attention, the indexer, has chosen. Every rank holds the whole
// indexer, its keys have their own cache, and the profile run reserves room for its logits.
#pragma once

#include "framework/vllm/layers/mla.h"

namespace memtape::vllm {

/// Whether the layers of a configuration choose their tokens (index_topk).
bool has_sparse_attention(const Config& config);
/// Whether layer `index` chooses anew. Other layers take the choice of a layer before them
/// (index_topk_freq, index_topk_pattern).
bool has_indexer(const Config& config, std::int64_t index);

/// Makes what the layers share: the chosen tokens for each token of the batch.
void make_topk_buffer(const Place& model);

/// The weights of the indexer, and what its groups of layers keep.
class SparseIndexer : public nn::Module<SparseIndexer> {
 public:
  SparseIndexer(const Place& place, const MlaShape& shape);

  Tensor keys_and_weights(const Tensor& hidden_states) {
    return (*wk_weights_proj_)(hidden_states);
  }
  Tensor queries(const Tensor& q_lora) { return (*wq_b_)(q_lora); }
  std::int64_t heads() const { return heads_; }
  std::int64_t head_size() const { return size_; }
  /// sparse_attn_indexer without metadata: it takes its workspace and, for a moment, its logits.
  void reserve(Runtime& runtime) const;

 private:
  std::int64_t heads_, size_;
  std::unique_ptr<Linear> wq_b_, wk_weights_proj_;
  Tensor norm_weight_, norm_bias_;
};

class SparseMlaAttention : public nn::Module<SparseMlaAttention> {
 public:
  SparseMlaAttention(const Place& place, std::int64_t index);
  Tensor forward(const Tensor& hidden_states);

 private:
  void make_index_group(const Place& attn, bool is_new);
  void reserve_flash_mla();
  void register_caches();

  Place place_;
  Runtime& runtime_;
  MlaShape shape_;
  std::int64_t heads_;  ///< those on this rank
  std::unique_ptr<Linear> kv_b_proj_, a_proj_, q_b_proj_, o_proj_;
  std::unique_ptr<SparseIndexer> indexer_;
  std::unique_ptr<RMSNorm> q_a_layernorm_, kv_a_layernorm_;
  std::shared_ptr<RotaryEmbedding> rotary_, indexer_rotary_;
};

}  // namespace memtape::vllm
