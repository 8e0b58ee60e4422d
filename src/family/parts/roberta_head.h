// SPDX-License-Identifier: Apache-2.0
// The masked-language-model head of RoBERTa, which other encoders repeat: a dense layer, a norm and
// a decoder in one module; mirroring transformers 5.17 models/roberta/modeling_roberta.py.
#pragma once

#include "family/pretrained.h"
#include "ghost/ops/pointwise.h"
#include "nn/layers.h"

namespace memtape::family {

class RobertaLMHead : public nn::Module<RobertaLMHead> {
 public:
  template <class Settings>
  RobertaLMHead(const nn::Scope& scope, const Settings& c)
      : Module(scope),
        dense_(scope / "dense", c.hidden_size, c.hidden_size),
        layer_norm_(scope / "layer_norm", c.hidden_size),
        decoder_(scope / "decoder", c.hidden_size, c.vocab_size),
        bias_(scope.parameter("bias", {c.vocab_size})) {}

  void tie(const Tensor& table) {
    nn::tie(decoder_, table);
    nn::tie_bias(decoder_, bias_);
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
  Tensor bias_;
};

}  // namespace memtape::family
