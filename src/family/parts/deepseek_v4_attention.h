// SPDX-License-Identifier: Apache-2.0
// DeepSeek-V4's attention. One head of keys, which are also the values, covers a sliding window.
// Most layers also have keys that are compressed from windows of tokens; an indexer may choose
// among them. Mirrors transformers 5.17 models/deepseek_v4/modeling_deepseek_v4.py.
#pragma once

#include <memory>
#include <optional>

#include "family/parts/attention_interface.h"
#include "family/parts/deepseek_v4_settings.h"
#include "family/parts/llama_layer.h"

namespace memtape::family {

/// The modules from kv_proj to rotary_emb of a compressor or an indexer: a gated sum reduces each
/// window of tokens to one entry.
class WindowPool {
 public:
  struct Shape {
    std::int64_t rate, head_dim;
    bool overlaps = true;          ///< an entry takes in the window before its own
    std::int64_t index_heads = 0;  ///< of an indexer's queries, which q_b_proj makes
  };
  WindowPool(const nn::Scope& scope, const DeepseekV4Config& c, const Shape& shape);

  /// The locals of the caller's forward; `compressed` [B, T, D] are the entries.
  struct Locals {
    Tensor kv, gate, chunk_kv, chunk_gate, new_kv, new_gate, positions, compressed;
    CosSin cos_sin;
  };
  Locals operator()(const Tensor& hidden_states);
  /// The queries of an indexer [B, S, H, D]; `cos_sin` outlives them.
  Tensor queries(const Tensor& hidden_states, const Tensor& q_residual, const Tensor& position_ids,
                 CosSin& cos_sin);

  /// compress_rate: how many tokens an entry stands for.
  std::int64_t rate() const { return shape_.rate; }
  const DeepseekV4RotaryEmbedding& rotary_emb() const { return rotary_emb_; }

 private:
  void overlap(Locals& locals) const;

  Shape shape_;
  nn::Linear kv_proj_, gate_proj_;
  Tensor position_bias_;
  DeepseekV4RMSNorm kv_norm_;
  std::unique_ptr<nn::Linear> q_b_proj_;
  DeepseekV4RotaryEmbedding rotary_emb_;
};

/// DeepseekV4Indexer: the entries that each query may see, -1 if there are fewer.
class DeepseekV4Indexer : public nn::Module<DeepseekV4Indexer> {
 public:
  DeepseekV4Indexer(const nn::Scope& scope, const DeepseekV4Config& c);
  Tensor forward(const Tensor& hidden_states, const Tensor& q_residual, const Tensor& position_ids);
  void init_weights() const { pool_.rotary_emb().init_weights(); }

 private:
  Tensor score(const Tensor& q, const Tensor& compressed_kv, const Tensor& hidden_states);

  std::int64_t topk_;
  WindowPool pool_;
  nn::Linear weights_proj_;
};

/// DeepseekV4HCACompressor; with an indexer it is DeepseekV4CSACompressor.
class DeepseekV4Compressor : public nn::Module<DeepseekV4Compressor> {
 public:
  DeepseekV4Compressor(const nn::Scope& scope, const DeepseekV4Config& c, CompressedKeys kind);
  /// Returns the entries [B, 1, T, D] and what the queries see of them [B, 1, S, T]; both are
  /// undefined if there are none.
  std::pair<Tensor, Tensor> forward(const Tensor& hidden_states, const Tensor& q_residual,
                                    const Tensor& position_ids);
  void init_weights() const;

 private:
  Tensor causal_bias(const Tensor& compressed_kv, const Tensor& position_ids) const;
  static Tensor chosen_bias(const Tensor& compressed_kv, const Tensor& top_k_indices);

  WindowPool pool_;
  std::optional<DeepseekV4Indexer> indexer_;
};

/// What the model makes once for all layers.
struct DeepseekV4Positions {
  CosSin main, compress;
  Tensor position_ids, attention_mask;
};

class DeepseekV4Attention : public nn::Module<DeepseekV4Attention> {
 public:
  DeepseekV4Attention(const nn::Scope& scope, const DeepseekV4Config& c, std::int64_t layer);
  Tensor forward(const Tensor& hidden_states, const DeepseekV4Positions& positions);
  void init_weights() const {
    if (compressor_) compressor_->init_weights();
  }

 private:
  /// DeepseekV4GroupedLinear, o_a_proj.
  Tensor project_groups(const Tensor& x);

  AttentionCall call_;
  std::int64_t head_dim_, o_groups_;
  nn::Linear q_a_proj_;
  DeepseekV4RMSNorm q_a_norm_;
  nn::Linear q_b_proj_;
  UnweightedRMSNorm q_b_norm_;
  nn::Linear kv_proj_;
  DeepseekV4RMSNorm kv_norm_;
  nn::Linear o_a_proj_, o_b_proj_;
  Tensor sinks_;
  std::optional<DeepseekV4Compressor> compressor_;
};

}  // namespace memtape::family
