// SPDX-License-Identifier: Apache-2.0
// The modules of torchtune's decoders (0.6.1, modules/: rms_norm.py, position_embeddings.py,
// attention.py, feed_forward.py, transformer.py, peft/lora.py).
#pragma once

#include <memory>
#include <optional>

#include "framework/torchtune/compiled_layer.h"
#include "framework/torchtune/levers.h"
#include "framework/torchtune/lora.h"
#include "nn/layers.h"

namespace memtape::torchtune {

using ghost::Tensor;

/// What every part is built from. `lora` is null unless the builder is lora_*.
struct Parts {
  const DecoderArgs& args;
  const Levers& levers;
  const Lora* lora = nullptr;
};

class RMSNorm : public nn::Module<RMSNorm> {
 public:
  RMSNorm(const nn::Scope& scope, std::int64_t dim, const Levers& levers);
  Tensor forward(const Tensor& x);
  const Tensor& scale() const { return scale_; }

 private:
  bool is_functional_;
  Tensor scale_;
};

/// nn.Linear without a bias; or LoRALinear, whose own product has two small ones beside it that are
/// trained.
class Linear : public nn::Module<Linear> {
 public:
  struct Sizes {
    std::int64_t in_dim, out_dim;
  };
  /// `lora` is null if this layer is not adapted.
  Linear(const nn::Scope& scope, const Sizes& sizes, const Lora* lora);
  Tensor forward(const Tensor& x);
  LinearWeights weights() const;

 private:
  struct Adapter {
    Adapter(const nn::Scope& scope, const Sizes& sizes, const Lora& lora);
    nn::Dropout dropout;
    nn::Linear lora_a, lora_b;
  };
  Tensor weight_;
  std::unique_ptr<Adapter> adapter_;
};

/// RotaryPositionalEmbeddings and Llama3ScaledRoPE: a table [max_seq_len, head_dim / 2, 2] in
/// float32, which all layers share.
class RotaryEmbeddings {
 public:
  RotaryEmbeddings(const nn::Scope& scope, const DecoderArgs& args);
  /// x is [B, S, H, D]. Positions are undefined unless rows are packed.
  Tensor operator()(const Tensor& x, const Tensor& input_pos) const;

  const Tensor& cache() const { return cache_; }

 private:
  Tensor theta_, cache_;
};

class MultiHeadAttention : public nn::Module<MultiHeadAttention> {
 public:
  MultiHeadAttention(const nn::Scope& scope, const Parts& parts, const RotaryEmbeddings& rope);
  Tensor forward(const Tensor& x, const Tensor& input_pos);
  void list_weights(LayerWeights& into) const;

 private:
  Tensor heads_repeated(const Tensor& x) const;

  const DecoderArgs& args_;
  const bool is_packed_;
  const RotaryEmbeddings& rope_;
  Linear q_proj_, k_proj_, v_proj_, output_proj_;
};

class FeedForward : public nn::Module<FeedForward> {
 public:
  FeedForward(const nn::Scope& scope, const Parts& parts);
  Tensor forward(const Tensor& x);
  void list_weights(LayerWeights& into) const;

 private:
  Linear w1_, w2_, w3_;
};

class TransformerSelfAttentionLayer : public nn::Module<TransformerSelfAttentionLayer> {
 public:
  TransformerSelfAttentionLayer(const nn::Scope& scope, const Parts& parts,
                                const RotaryEmbeddings& rope);
  Tensor forward(const Tensor& x, const Tensor& input_pos);

 private:
  LayerWeights weights() const;

  const Parts parts_;
  MultiHeadAttention attn_;
  FeedForward mlp_;
  RMSNorm sa_norm_, mlp_norm_;
};

}  // namespace memtape::torchtune
