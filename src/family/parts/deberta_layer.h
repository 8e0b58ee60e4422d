// SPDX-License-Identifier: Apache-2.0
// What the layers and the models of both generations of DeBERTa share around their self-attention;
// mirroring transformers 5.17 models/deberta/modeling_deberta.py and
// models/deberta_v2/modeling_deberta_v2.py.
#pragma once

#include <vector>

#include "family/masks/padding_check.h"
#include "family/parts/bert_encoder.h"
#include "family/parts/deberta_dropout.h"
#include "family/parts/deberta_embeddings.h"
#include "family/parts/several_inputs_layer.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/pointwise.h"

namespace memtape::family {

/// DebertaSelfOutput, DebertaOutput and their second generation's.
template <class Norm>
class DebertaOutput : public nn::Module<DebertaOutput<Norm>> {
 public:
  DebertaOutput(const nn::Scope& scope, std::int64_t in_features, const BertConfig& c)
      : nn::Module<DebertaOutput>(scope),
        dense_(scope / "dense", in_features, c.hidden_size),
        layer_norm_(scope / "LayerNorm", c.hidden_size),
        dropout_(scope / "dropout", c.hidden_dropout_prob) {}

  Tensor forward(const Tensor& x, const Tensor& input_tensor) {
    Tensor hidden_states = dense_(x);
    hidden_states = dropout_(hidden_states);
    hidden_states = layer_norm_(hidden_states.add(input_tensor));
    return hidden_states;
  }

 private:
  nn::Linear dense_;
  Norm layer_norm_;
  DebertaDropout dropout_;
};

/// DebertaAttention, DebertaV2Attention. `Output`: a product, dropout, the residual and a norm.
template <class SelfAttention, class Output>
class DebertaAttention : public nn::Module<DebertaAttention<SelfAttention, Output>> {
 public:
  template <class Settings>
  DebertaAttention(const nn::Scope& scope, const Settings& c)
      : nn::Module<DebertaAttention>(scope),
        self_(scope / "self", c),
        output_(scope / "output", c.hidden_size, c) {}

  Tensor forward(const Tensor& hidden_states, const Tensor& attention_mask,
                 const Tensor& relative_pos, const Tensor& rel_embeddings) {
    const Tensor self_output = self_(hidden_states, attention_mask, relative_pos, rel_embeddings);
    return output_(self_output, hidden_states);
  }

 private:
  SelfAttention self_;
  Output output_;
};

/// DebertaLayer, DebertaV2Layer.
template <class SelfAttention, class Output>
class DebertaLayer : public LayerOfSeveralInputs<DebertaLayer<SelfAttention, Output>> {
 public:
  static constexpr std::size_t kFurtherInput = 2;  ///< rel_embeddings

  template <class Settings>
  DebertaLayer(const nn::Scope& scope, const Settings& c)
      : LayerOfSeveralInputs<DebertaLayer>(scope),
        attention_(scope / "attention", c),
        intermediate_(scope / "intermediate", c),
        output_(scope / "output", c.intermediate_size, c) {}

  Tensor forward(const Tensor& hidden_states, const Tensor& attention_mask,
                 const Tensor& relative_pos, const Tensor& rel_embeddings) {
    const Tensor attention_output =
        attention_(hidden_states, attention_mask, relative_pos, rel_embeddings);
    const Tensor intermediate_output = intermediate_(attention_output);
    return output_(intermediate_output, attention_output);
  }

 private:
  DebertaAttention<SelfAttention, Output> attention_;
  BertIntermediate intermediate_;
  Output output_;
};

/// get_attention_mask: [B, 1, S, S] of [B, S].
inline Tensor deberta_attention_mask(const Tensor& input_mask) {
  const Tensor extended_attention_mask = input_mask.unsqueeze(1).unsqueeze(2);
  return extended_attention_mask.mul(extended_attention_mask.squeeze(-2).unsqueeze(-1));
}

/// The states after each layer, which the model holds until it returns.
template <class Layers>
std::vector<Tensor> all_hidden_states_of(Layers& layers, const Tensor& embeddings,
                                         const Tensor& attention_mask, const Tensor& relative_pos,
                                         const Tensor& rel_embeddings) {
  std::vector<Tensor> all_hidden_states{embeddings};
  for (auto& layer_module : layers)
    all_hidden_states.push_back(
        layer_module(all_hidden_states.back(), attention_mask, relative_pos, rel_embeddings));
  return all_hidden_states;
}

/// DebertaModel, DebertaV2Model.
template <class Config, class Encoder, class Norm>
class DebertaModel : public nn::Module<DebertaModel<Config, Encoder, Norm>> {
 public:
  using Settings = Config;

  DebertaModel(const nn::Scope& scope, const Config& c)
      : nn::Module<DebertaModel>(scope),
        embeddings(scope / "embeddings", c),
        checks_padding_(c.checks_padding),
        encoder_(scope / "encoder", c) {
    embeddings.init_weights();
  }

  Tensor forward(const Tensor& input_ids, const Tensor& given_mask) {
    if (checks_padding_ && !given_mask.defined()) look_for_padding(input_ids);
    const Tensor attention_mask =
        given_mask.defined() ? given_mask : ghost::ones(input_ids.sizes(), DType::float32);
    const Tensor token_type_ids = ghost::zeros(input_ids.sizes(), DType::int64);
    const Tensor embedding_output = embeddings(input_ids, token_type_ids, attention_mask);
    const std::vector<Tensor> encoded_layers = encoder_(embedding_output, attention_mask);
    return encoded_layers.back();
  }

  DebertaEmbeddings<Norm> embeddings;

 private:
  bool checks_padding_;
  Encoder encoder_;
};

}  // namespace memtape::family
