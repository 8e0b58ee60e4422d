// SPDX-License-Identifier: Apache-2.0
// DeepSeek-V4's attention: one head of keys that are values, too, over a sliding window, and in
// most layers beside it keys compressed from windows of tokens, of which an indexer may choose;
// mirroring transformers 5.17 models/deepseek_v4/modeling_deepseek_v4.py.
#pragma once

#include <memory>
#include <optional>

#include "family/parts/attention_interface.h"
#include "family/parts/deepseek_v4_settings.h"
#include "family/parts/llama_layer.h"

namespace memtape::family {

/// kv_proj to rotary_emb of a compressor or of an indexer: windows of tokens brought down to one
/// entry each by a gated sum.
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
  /// An indexer's queries [B, S, H, D]; `cos_sin` outlives them.
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
  LlamaRMSNorm kv_norm_;
  std::unique_ptr<nn::Linear> q_b_proj_;
  DeepseekV4RotaryEmbedding rotary_emb_;
};

/// DeepseekV4Indexer: which entries each query may see, -1 where there are fewer.
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

/// DeepseekV4HCACompressor, and with an indexer DeepseekV4CSACompressor.
class DeepseekV4Compressor : public nn::Module<DeepseekV4Compressor> {
 public:
  DeepseekV4Compressor(const nn::Scope& scope, const DeepseekV4Config& c, CompressedKeys kind);
  /// Entries [B, 1, T, D], and what queries see of them [B, 1, S, T]: undefined where there are
  /// none.
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
  LlamaRMSNorm q_a_norm_;
  nn::Linear q_b_proj_;
  UnweightedRMSNorm q_b_norm_;
  nn::Linear kv_proj_;
  LlamaRMSNorm kv_norm_;
  nn::Linear o_a_proj_, o_b_proj_;
  Tensor sinks_;
  std::optional<DeepseekV4Compressor> compressor_;
};

}  // namespace memtape::family
