// SPDX-License-Identifier: Apache-2.0
// DeepSeek-V4's settings and what its compressors, attention and model share; mirroring
// transformers 5.17 models/deepseek_v4/modeling_deepseek_v4.py.
#pragma once

#include <vector>

#include "family/parts/experts.h"
#include "family/parts/hyper_connection.h"
#include "family/parts/rope.h"

namespace memtape::family {

/// sliding_attention; compressed_sparse_attention (CSA); heavily_compressed_attention (HCA).
enum class CompressedKeys { none, sparse, heavy };

struct DeepseekV4Config : MoeConfig {
  DeepseekV4Config(const Config& c, const ModelOptions& options);

  std::int64_t q_lora_rank, o_groups, o_lora_rank, index_n_heads, index_head_dim, index_topk;
  std::int64_t sparse_rate = 4, heavy_rate = 128;  ///< tokens per compressed entry
  HyperConnectionSettings hyper_connection;
  RopeParameters compress_rope;            ///< `rope` is that of layers without compressed keys
  bool sigmoid_scores = false;             ///< else sqrt(softplus)
  std::vector<CompressedKeys> compressed;  ///< one per layer
  std::vector<bool> hash_moe;              ///< one per layer

  CompressedKeys compressed_keys(std::int64_t layer) const {
    return compressed[static_cast<std::size_t>(layer)];
  }

 private:
  void read_attention_layers(const Config& c);
  void read_mlp_layers(const Config& c);
  void read_ropes(const Config& c);
};

class DeepseekV4RMSNorm : public nn::Module<DeepseekV4RMSNorm> {
 public:
  DeepseekV4RMSNorm(const nn::Scope& scope, std::int64_t hidden_size);
  Tensor forward(const Tensor& x);

 private:
  Tensor weight_;
};

/// The frequencies of layers without and with compressed keys. Each module that rotates has its
/// own.
class DeepseekV4RotaryEmbedding : public nn::Module<DeepseekV4RotaryEmbedding> {
 public:
  enum class Kind { main, compress };
  DeepseekV4RotaryEmbedding(const nn::Scope& scope, const DeepseekV4Config& c);
  CosSin forward(const Tensor& x, const Tensor& position_ids, Kind kind);
  void init_weights() const;

 private:
  RopeParameters main_rope_, compress_rope_;
  RotaryEmbedding main_, compress_;
};

/// apply_rotary_pos_emb: rotates the last dimensions of each head in float32, neighbours in pairs.
Tensor rotate_tail(const Tensor& x, const Tensor& cos, Tensor sin);

}  // namespace memtape::family
