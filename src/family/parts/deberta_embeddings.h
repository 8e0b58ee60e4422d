// SPDX-License-Identifier: Apache-2.0
// The settings and the embeddings that both generations of DeBERTa share; mirroring transformers
// 5.17 models/deberta/modeling_deberta.py and models/deberta_v2/modeling_deberta_v2.py.
#pragma once

#include <optional>

#include "family/parts/bert_encoder.h"
#include "family/parts/deberta_dropout.h"
#include "family/parts/position_ids.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/pointwise.h"
#include "release/encoder_changes.h"

namespace memtape::family {

struct DebertaConfig : BertConfig {
  DebertaConfig(const Config& c, const ModelOptions& options, const BertDefaults& defaults);

  std::int64_t head_size() const { return hidden_size / num_attention_heads; }

  bool relative_attention, position_biased_input, checks_padding;
  bool c2p = false, p2c = false;  ///< of pos_att_type
  std::int64_t max_relative_positions;

 private:
  /// "p2c|c2p", or a list of the two.
  void read_pos_att_type(const Config& c);
};

/// The sum of word, position and token type embeddings, normalized by `Norm` and masked.
template <class Norm>
class DebertaEmbeddings : public nn::Module<DebertaEmbeddings<Norm>> {
 public:
  DebertaEmbeddings(const nn::Scope& scope, const DebertaConfig& c)
      : nn::Module<DebertaEmbeddings>(scope),
        word_embeddings(scope / "word_embeddings", c.vocab_size, c.hidden_size) {
    if (c.position_biased_input)
      position_embeddings_.emplace(scope / "position_embeddings", c.max_position_embeddings,
                                   c.hidden_size);
    if (c.type_vocab_size > 0)
      token_type_embeddings_.emplace(scope / "token_type_embeddings", c.type_vocab_size,
                                     c.hidden_size);
    layer_norm_.emplace(scope / "LayerNorm", c.hidden_size);
    dropout_.emplace(scope / "dropout", c.hidden_dropout_prob);
    position_ids_.emplace(scope, c.max_position_embeddings);
  }

  void init_weights() const { position_ids_->init_weights(); }

  Tensor forward(const Tensor& input_ids, const Tensor& token_type_ids, const Tensor& given_mask) {
    const Tensor position_ids = position_ids_->first(input_ids.size(1));
    const Tensor inputs_embeds = word_embeddings(input_ids);
    const Tensor position_embeddings = position_embeddings_ ? (*position_embeddings_)(position_ids)
                                                            : ghost::zeros_like(inputs_embeds);
    Tensor embeddings = inputs_embeds, token_type_embeddings;
    if (position_embeddings_) add_to(embeddings, position_embeddings);
    if (token_type_embeddings_) {
      token_type_embeddings = (*token_type_embeddings_)(token_type_ids);
      add_to(embeddings, token_type_embeddings);
    }
    embeddings = (*layer_norm_)(embeddings);
    const Tensor mask = given_mask.unsqueeze(2).to(embeddings.dtype());
    embeddings = embeddings.mul(mask);
    embeddings = (*dropout_)(embeddings);
    return embeddings;
  }

  nn::Embedding word_embeddings;

 private:
  static void add_to(Tensor& embeddings, const Tensor& further) {
    if (ghost::has(changes::kDebertaAddsEmbeddingsOutOfPlace))
      embeddings = embeddings.add(further);
    else
      ghost::add_(embeddings, further);
  }

  std::optional<nn::Embedding> position_embeddings_, token_type_embeddings_;
  std::optional<Norm> layer_norm_;
  std::optional<DebertaDropout> dropout_;
  std::optional<PositionIds> position_ids_;
};

}  // namespace memtape::family
