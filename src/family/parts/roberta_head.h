// SPDX-License-Identifier: Apache-2.0
// The masked-language-model head of RoBERTa, which other encoders repeat: a dense layer, a norm and
// a decoder in one module; mirroring transformers 5.17 models/roberta/modeling_roberta.py. GTE's has
// no bias beside its decoder's (5.24 models/gte/modular_gte.py).
#pragma once

#include "family/pretrained.h"
#include "ghost/ops/pointwise.h"
#include "nn/layers.h"

namespace memtape::family {

template <bool kHasOwnBias>
class DenseLMHead : public nn::Module<DenseLMHead<kHasOwnBias>> {
 public:
  template <class Settings>
  DenseLMHead(const nn::Scope& scope, const Settings& c)
      : nn::Module<DenseLMHead>(scope),
        dense_(scope / "dense", c.hidden_size, c.hidden_size),
        layer_norm_(scope / "layer_norm", c.hidden_size),
        decoder_(scope / "decoder", c.hidden_size, c.vocab_size) {
    if constexpr (kHasOwnBias) bias_ = scope.parameter("bias", {c.vocab_size});
  }

  void tie(const Tensor& table) {
    nn::tie(decoder_, table);
    if constexpr (kHasOwnBias) nn::tie_bias(decoder_, bias_);
  }

  Tensor forward(const Tensor& features) {
    Tensor x = dense_(features);
    x = ghost::gelu(x);
    x = layer_norm_(x);
    x = decoder_(x);
    return x;
  }

 private:
  nn::Linear dense_;
  nn::LayerNorm layer_norm_;
  nn::Linear decoder_;
  Tensor bias_;  ///< the decoder's once tied
};

using RobertaLMHead = DenseLMHead<true>;
using GteLMHead = DenseLMHead<false>;

}  // namespace memtape::family
