// SPDX-License-Identifier: Apache-2.0
// The masked-language-model head of BERT, which DeBERTa-v2 has, too: a transform, and a decoder
// whose weight and bias are tied; mirroring transformers 5.17 models/bert/modeling_bert.py.
#pragma once

#include "family/parts/bert_encoder.h"

namespace memtape::family {

class BertPredictionHeadTransform : public nn::Module<BertPredictionHeadTransform> {
 public:
  BertPredictionHeadTransform(const nn::Scope& scope, const BertConfig& c)
      : Module(scope),
        dense_(scope / "dense", c.hidden_size, c.hidden_size),
        transform_act_fn_(c.hidden_act),
        layer_norm_(scope / "LayerNorm", c.hidden_size) {}

  Tensor forward(const Tensor& x) {
    Tensor hidden_states = dense_(x);
    hidden_states = transform_act_fn_(hidden_states);
    hidden_states = layer_norm_(hidden_states);
    return hidden_states;
  }

 private:
  nn::Linear dense_;
  nn::Activation transform_act_fn_;
  nn::LayerNorm layer_norm_;
};

class BertLMPredictionHead : public nn::Module<BertLMPredictionHead> {
 public:
  BertLMPredictionHead(const nn::Scope& scope, const BertConfig& c)
      : Module(scope),
        transform_(scope / "transform", c),
        decoder_(scope / "decoder", c.hidden_size, c.vocab_size),
        bias_(scope.parameter("bias", {c.vocab_size})) {}

  void tie(const Tensor& table) {
    nn::tie(decoder_, table);
    nn::tie_bias(decoder_, bias_);
  }

  Tensor forward(const Tensor& x) {
    const Tensor hidden_states = transform_(x);
    return decoder_(hidden_states);
  }

 private:
  BertPredictionHeadTransform transform_;
  nn::Linear decoder_;
  Tensor bias_;
};

}  // namespace memtape::family
