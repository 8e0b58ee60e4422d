// SPDX-License-Identifier: Apache-2.0
// The vision towers of Qwen's models that take images and text. A step without images passes them
// over: they take memory, but get no gradients. Mirrors the constructors of transformers 5.17
// models/qwen2_vl/modeling_qwen2_vl.py, models/qwen2_5_vl/modeling_qwen2_5_vl.py and
// models/qwen3_vl/modeling_qwen3_vl.py.
#pragma once

#include <optional>
#include <vector>

#include "family/parts/rope.h"
#include "nn/convolution.h"
#include "nn/layers.h"

namespace memtape::family {

/// Which of Qwen's towers: they differ in norms, MLPs, and in what Qwen3-VL has more.
enum class QwenTower { qwen2_vl, qwen2_5_vl, qwen3_vl };

struct QwenVisionConfig {
  QwenVisionConfig(const Config& c, QwenTower tower);
  QwenTower tower;
  std::int64_t depth, hidden_size, intermediate_size, out_hidden_size, num_heads, in_channels,
      patch_size, spatial_merge_size, temporal_patch_size;
  std::int64_t num_position_embeddings = 0;
  std::int64_t deepstack_mergers = 0;
  std::int64_t merged_size() const { return hidden_size * spatial_merge_size * spatial_merge_size; }
};

/// A LayerNorm, or an RMS norm where Qwen2.5-VL has one.
class QwenVisionNorm {
 public:
  QwenVisionNorm(const nn::Scope& scope, std::int64_t size, QwenTower tower);

 private:
  Tensor weight_, bias_;
};

class QwenVisionBlock {
 public:
  QwenVisionBlock(const nn::Scope& scope, const QwenVisionConfig& c);

 private:
  QwenVisionNorm norm1_, norm2_;
  nn::Scope attn_;
  nn::Linear qkv_, proj_;
  nn::Scope mlp_;
  std::vector<std::unique_ptr<nn::Linear>> mlp_layers_;
};

/// PatchMerger: a norm, before or after neighbours are joined, and two projections.
class QwenPatchMerger {
 public:
  QwenPatchMerger(const nn::Scope& scope, const QwenVisionConfig& c, bool postshuffle_norm);

 private:
  QwenVisionNorm norm_;
  nn::Scope mlp_;
  nn::Linear first_, second_;
};

class QwenVisionTower {
 public:
  QwenVisionTower(const nn::Scope& scope, const QwenVisionConfig& c);

 private:
  nn::Convolution patch_embed_;
  std::optional<nn::Embedding> pos_embed_;
  RotaryEmbedding rotary_pos_emb_;
  nn::ModuleList<QwenVisionBlock> blocks_;
  QwenPatchMerger merger_;
  nn::ModuleList<QwenPatchMerger> deepstack_merger_list_;
};

}  // namespace memtape::family
