// SPDX-License-Identifier: Apache-2.0
// BERT's encoder, mirroring transformers 5.17 models/bert/modeling_bert.py: attention without a
// mask for whole batches, and a norm after each branch. RoBERTa inherits it
// (models/roberta/modular_roberta.py), ELECTRA repeats it.
#pragma once

#include <functional>
#include <type_traits>
#include <utility>

#include "family/masks/masking.h"
#include "family/parts/attention_interface.h"
#include "family/parts/position_ids.h"
#include "nn/activations.h"
#include "nn/checkpointing.h"
#include "nn/layers.h"

namespace memtape::family {

/// The class defaults of a configuration_FAMILY.py.
struct BertDefaults {
  std::int64_t vocab_size = 30522, hidden_size = 768, num_hidden_layers = 12,
               num_attention_heads = 12, intermediate_size = 3072, type_vocab_size = 2;
  std::string_view hidden_act = "gelu";
  double dropout = 0.1;
};

struct BertConfig {
  BertConfig(const Config& config, const ModelOptions& options, const BertDefaults& defaults);

  std::int64_t vocab_size, hidden_size, num_hidden_layers, num_attention_heads, intermediate_size;
  std::int64_t max_position_embeddings, type_vocab_size;
  nn::Activation hidden_act;
  double hidden_dropout_prob, attention_probs_dropout_prob;
  bool tie_word_embeddings;
  AttentionImplementation attention;
};

class BertSelfAttention : public nn::Module<BertSelfAttention> {
 public:
  BertSelfAttention(const nn::Scope& scope, const BertConfig& config);
  Tensor forward(const Tensor& hidden_states, const Tensor& attention_mask);

 private:
  /// Eager attention before kEncodersCallTheInterface; its names live until it returns.
  Tensor written_out(const Tensor& query_layer, const Tensor& key_layer, const Tensor& value_layer,
                     const Tensor& attention_mask) const;

  AttentionCall call_;
  std::int64_t attention_head_size_;
  nn::Linear query_, key_, value_;
};

/// BertSelfOutput and BertOutput: a projection, dropout, and a norm over the sum with the branch's
/// input.
class BertOutput : public nn::Module<BertOutput> {
 public:
  BertOutput(const nn::Scope& scope, std::int64_t in_features, const BertConfig& config);
  Tensor forward(const Tensor& hidden_states, const Tensor& input_tensor);

 private:
  nn::Linear dense_;
  nn::LayerNorm layer_norm_;
  nn::Dropout dropout_;
};

class BertAttention : public nn::Module<BertAttention> {
 public:
  BertAttention(const nn::Scope& scope, const BertConfig& config);
  Tensor forward(const Tensor& hidden_states, const Tensor& attention_mask);

 private:
  BertSelfAttention self_;
  BertOutput output_;
};

class BertIntermediate : public nn::Module<BertIntermediate> {
 public:
  BertIntermediate(const nn::Scope& scope, const BertConfig& config);
  Tensor forward(const Tensor& hidden_states);

 private:
  nn::Linear dense_;
  nn::Activation intermediate_act_fn_;
};

class BertLayer : public nn::GradientCheckpointingLayer<BertLayer> {
 public:
  static constexpr bool kTakesTensorsByPosition = true;

  BertLayer(const nn::Scope& scope, const BertConfig& config);
  /// `cache_position`, if there is any, is for layers of decoders.
  Tensor forward(const Tensor& hidden_states, const Tensor& attention_mask,
                 const Tensor& cache_position);
  /// Where forward puts the attention weights that it returns beside the hidden states; null while
  /// nobody takes them, as when backward runs a layer again.
  void return_weights_to(Tensor* taker) { weights_taker_ = taker; }
  Tensor* weights_taker() const { return weights_taker_; }

 private:
  Tensor* weights_taker_ = nullptr;
  BertAttention attention_;
  BertIntermediate intermediate_;
  BertOutput output_;
};

/// The sum of word, position and token type embeddings of size `width`, and a norm over it.
class BertEmbeddings : public nn::Module<BertEmbeddings> {
 public:
  BertEmbeddings(const nn::Scope& scope, const BertConfig& config);
  BertEmbeddings(const nn::Scope& scope, const BertConfig& config, std::int64_t width);
  void init_weights() const { position_ids_.init_weights(); }
  Tensor forward(const Tensor& input_ids);

  nn::Embedding word_embeddings;

 private:
  nn::Embedding position_embeddings_, token_type_embeddings_;
  nn::LayerNorm layer_norm_;
  nn::Dropout dropout_;
  PositionIds position_ids_;
  Tensor token_type_ids_;
};

/// embeddings + position_embeddings, in place if the release does so.
void add_positions(Tensor& embeddings, const Tensor& position_embeddings);

/// The embeddings of a batch's token types at its positions (torch.gather of the buffer).
Tensor gather_token_types(const Tensor& token_type_ids, const Tensor& position_ids);

/// The mask of a batch, and the tensor that it is made of if forward keeps that alive.
struct EncoderMask {
  Tensor given, extended;
};

EncoderMask encoder_mask(AttentionImplementation attention, const Tensor& given_mask,
                         const Tensor& embedding_output);

/// get_extended_attention_mask of transformers 4.
EncoderMask extended_mask(AttentionImplementation attention, const Tensor& given_mask,
                          const ghost::Dims& sizes, DType dtype);

/// The check for padding with which BertModel.forward began in transformers 4.
void look_for_padding_before_5(const Tensor& input_ids);

/// The positions that BERT's kin counted for a cache from transformers 5.0 to 5.3, whether there was
/// one or not; undefined in other releases.
Tensor cache_positions_of(const Tensor& input_ids);

/// BertModel over `Embeddings`, made with (scope, config), and a stack of `Layer`.
template <class Embeddings, class Layer = BertLayer>
class BertModel : public nn::Module<BertModel<Embeddings, Layer>> {
 public:
  template <class Settings>
  BertModel(const nn::Scope& scope, const Settings& c, const char* stack = "encoder")
      : nn::Module<BertModel>(scope),
        embeddings(scope / "embeddings", c),
        attention_(c.attention),
        layer_(scope / stack / "layer", c.num_hidden_layers, c) {
    embeddings.init_weights();
  }

  /// `pool` runs before the frame ends.
  Tensor forward(const Tensor& input_ids, const Tensor& given_mask,
                 const std::function<void(const Tensor&)>& pool = {}) {
    if (!given_mask.defined()) look_for_padding_before_5(input_ids);
    constexpr bool kCounts = std::is_same_v<Layer, BertLayer>;
    const Tensor cache_position = kCounts ? cache_positions_of(input_ids) : Tensor();
    const Tensor embedding_output = embeddings(input_ids);
    const EncoderMask mask = mask_of(given_mask, embedding_output);
    const Tensor& attention_mask = mask.extended;
    Tensor hidden_states = embedding_output;
    Tensor weights_of_last;  // layer_outputs[1], until the next layer has returned
    for (Layer& layer_module : layer_) {
      Tensor weights;
      if constexpr (requires { layer_module.return_weights_to(&weights); })
        layer_module.return_weights_to(&weights);
      if constexpr (kCounts)
        hidden_states = layer_module(hidden_states, attention_mask, cache_position);
      else
        hidden_states = layer_module(hidden_states, attention_mask);
      if constexpr (requires { layer_module.return_weights_to(nullptr); })
        layer_module.return_weights_to(nullptr);
      weights_of_last = std::move(weights);
    }
    weights_of_last.reset();
    if (pool) pool(hidden_states);
    return hidden_states;
  }

  Embeddings embeddings;

 private:
  EncoderMask mask_of(const Tensor& given_mask, const Tensor& embedding_output) const {
    if constexpr (requires { Layer::mask_for(attention_, given_mask, embedding_output); })
      return Layer::mask_for(attention_, given_mask, embedding_output);
    else
      return encoder_mask(attention_, given_mask, embedding_output);
  }

  AttentionImplementation attention_;
  nn::ModuleList<Layer> layer_;
};

}  // namespace memtape::family
