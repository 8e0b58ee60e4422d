// SPDX-License-Identifier: Apache-2.0
// DeBERTa with its masked-language-model head and its classifiers: queries, keys and values in one
// projection, biases beside it, norms spelled out in float32, and scores of contents and of
// relative positions in both directions; mirroring transformers 5.17
// models/deberta/modeling_deberta.py. The class makes the biases in float32 whatever the dtype,
// with which torch refuses to multiply in half precision; from a checkpoint they come in the
// model's dtype, as here.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "family/facts.h"
#include "family/parts/bert_head.h"
#include "family/parts/deberta_heads.h"
#include "family/parts/deberta_layer.h"
#include "family/parts/encoder_masked_lm.h"
#include "ghost/autocast.h"
#include "ghost/ops/comparisons.h"
#include "ghost/ops/copies.h"
#include "ghost/ops/dropout.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/matmul.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "ghost/ops/view_in_place.h"
#include "release/encoder_changes.h"

namespace memtape::family {
namespace {

struct DebertaV1Config : DebertaConfig {
  DebertaV1Config(const Config& c, const ModelOptions& options)
      : DebertaConfig(c, options, {.vocab_size = 50265, .type_vocab_size = 0}) {
    if (c.boolean("talking_head", false)) c.fail("talking_head", "is not modelled: use false");
  }
};

class DebertaLayerNorm : public nn::Module<DebertaLayerNorm> {
 public:
  DebertaLayerNorm(const nn::Scope& scope, std::int64_t size)
      : Module(scope),
        weight_(scope.parameter("weight", {size})),
        bias_(scope.parameter("bias", {size})) {}

  Tensor forward(const Tensor& x) {
    const DType input_type = x.dtype();
    Tensor hidden_states = x.to_float();
    const Tensor mean = hidden_states.mean(-1, true);
    const Tensor variance = hidden_states.sub(mean).pow(2).mean(-1, true);
    hidden_states = hidden_states.sub(mean).div(ghost::sqrt(variance.add(1e-7)));
    hidden_states = hidden_states.to(input_type);
    return weight_.mul(hidden_states).add(bias_);
  }

 private:
  Tensor weight_, bias_;
};

/// masked_fill(..., torch.finfo(query_layer.dtype).min) of scores that are narrower than the
/// queries, which torch raises at.
void refuse_autocast() {
  ghost::session().fail({ErrorKind::unsupported,
                         "deberta cannot run under autocast: it fills scores in half precision "
                         "with float32's lowest number, at which torch raises",
                         "--precision", "fp32"});
}

class DebertaSelfAttention : public nn::Module<DebertaSelfAttention> {
 public:
  DebertaSelfAttention(const nn::Scope& scope, const DebertaV1Config& c)
      : Module(scope),
        config_(c),
        in_proj_(scope / "in_proj", c.hidden_size, 3 * c.hidden_size, false),
        q_bias_(scope.parameter("q_bias", {c.hidden_size})),
        v_bias_(scope.parameter("v_bias", {c.hidden_size})) {
    if (!c.relative_attention) return;
    if (c.c2p) pos_proj_.emplace(scope / "pos_proj", c.hidden_size, c.hidden_size, false);
    if (c.p2c) pos_q_proj_.emplace(scope / "pos_q_proj", c.hidden_size, c.hidden_size);
  }

  Tensor forward(const Tensor& hidden_states, const Tensor& given_mask, const Tensor& relative_pos,
                 const Tensor& given_rel_embeddings) {
    const Tensor qp = in_proj_(hidden_states);
    std::vector<Tensor> parts = transpose_for_scores(qp).chunk(3, -1);
    Tensor query_layer = std::move(parts[0]), value_layer = std::move(parts[2]);
    const Tensor key_layer = std::move(parts[1]);
    query_layer = query_layer.add(transpose_for_scores(q_bias_.unsqueeze(0).unsqueeze(0)));
    value_layer = value_layer.add(transpose_for_scores(v_bias_.unsqueeze(0).unsqueeze(0)));
    query_layer = query_layer.div(2.0);  // by the scale, a number on the host
    Tensor attention_scores = query_layer.matmul(key_layer.transpose(-1, -2));
    Tensor rel_embeddings, rel_att;
    if (config_.relative_attention) {
      rel_embeddings = deberta_dropout(given_rel_embeddings, config_.hidden_dropout_prob);
      rel_att = disentangled_att_bias(query_layer, key_layer, relative_pos, rel_embeddings);
    }
    attention_scores =
        rel_att.defined() ? attention_scores.add(rel_att) : attention_scores.add(0.0);
    if (attention_scores.dtype() != query_layer.dtype() &&
        ghost::has(changes::kDebertaDropsPlainly))
      refuse_autocast();
    Tensor attention_mask = given_mask;
    Tensor attention_probs = deberta_softmax(attention_scores, attention_mask);
    attention_probs = deberta_dropout(attention_probs, config_.attention_probs_dropout_prob);
    Tensor context_layer = attention_probs.matmul(value_layer);
    context_layer = context_layer.permute({0, 2, 1, 3}).contiguous();
    return context_layer.view(hidden_states.sizes());
  }

 private:
  /// [B, S, H * D] to [B, H, S, D].
  Tensor transpose_for_scores(const Tensor& x) const {
    return x.view(x.sizes().leading().with(config_.num_attention_heads).with(-1))
        .permute({0, 2, 1, 3});
  }

  /// torch.gather(att, dim=-1, index=the positions of all heads).
  static Tensor gathered(const Tensor& att, const Tensor& places) {
    const Dims& sizes = att.sizes();
    return ghost::gather(att, places.expand({sizes[0], sizes[1], sizes[2], places.size(-1)}));
  }

  Tensor disentangled_att_bias(const Tensor& query_layer, const Tensor& key_layer,
                               const Tensor& given_relative_pos,
                               const Tensor& given_rel_embeddings) {
    const Tensor relative_pos = given_relative_pos.unsqueeze(1);
    const std::int64_t att_span = std::min(query_layer.size(-2), config_.max_relative_positions);
    const Tensor rel_embeddings = given_rel_embeddings
                                      .slice(0, config_.max_relative_positions - att_span,
                                             config_.max_relative_positions + att_span)
                                      .unsqueeze(0);
    Tensor score, pos_key_layer, c2p_att, c2p_pos, pos_query_layer, p2c_pos, p2c_att;
    if (config_.c2p) {
      pos_key_layer = (*pos_proj_)(rel_embeddings);
      pos_key_layer = transpose_for_scores(pos_key_layer);
      c2p_att = query_layer.matmul(pos_key_layer.transpose(-1, -2));
      c2p_pos = ghost::clamp(relative_pos.add(1.0), {.min = 0, .max = ghost::kLimit});
      c2p_att = gathered(c2p_att, c2p_pos);
      score = c2p_att.add(0.0);
    }
    if (config_.p2c) {
      pos_query_layer = (*pos_q_proj_)(rel_embeddings);
      pos_query_layer = transpose_for_scores(pos_query_layer);
      ghost::div_view_(pos_query_layer);
      p2c_pos = ghost::clamp(relative_pos.neg().add(1.0), {.min = 0, .max = ghost::kLimit});
      p2c_att = key_layer.matmul(pos_query_layer.transpose(-1, -2).to(key_layer.dtype()));
      p2c_att = gathered(p2c_att, p2c_pos).transpose(-1, -2);
      if (score.defined())
        ghost::add_(score, p2c_att);
      else
        score = p2c_att.add(0.0);
    }
    return score;
  }

  DebertaV1Config config_;
  nn::Linear in_proj_;
  Tensor q_bias_, v_bias_;
  std::optional<nn::Linear> pos_proj_, pos_q_proj_;
};

/// build_relative_position, as TorchScript's interpreter runs it: [1, S, S] int64.
Tensor scripted_relative_position(std::int64_t size) {
  const Tensor q_ids = ghost::arange(size, DType::int64);
  Tensor repeated;
  {
    const Tensor k_ids = ghost::arange(size, DType::int64);
    repeated = k_ids.view({1, -1}).expand({size, size}).contiguous();
  }
  return q_ids.unsqueeze(1).sub(repeated).unsqueeze(0);
}

class DebertaEncoder : public nn::Module<DebertaEncoder> {
 public:
  DebertaEncoder(const nn::Scope& scope, const DebertaV1Config& c)
      : Module(scope), layer_(scope / "layer", c.num_hidden_layers, c) {
    if (c.relative_attention)
      rel_embeddings_.emplace(scope / "rel_embeddings", 2 * c.max_relative_positions,
                              c.hidden_size);
  }

  /// The states after each layer, which the model holds until it returns.
  std::vector<Tensor> forward(const Tensor& embeddings, const Tensor& input_mask) {
    const Tensor attention_mask = deberta_attention_mask(input_mask);
    Tensor relative_pos, rel_embeddings;
    if (rel_embeddings_) {
      relative_pos = scripted_relative_position(embeddings.size(1));
      rel_embeddings = rel_embeddings_->weight;
    }
    return all_hidden_states_of(layer_, embeddings, attention_mask, relative_pos, rel_embeddings);
  }

 private:
  nn::ModuleList<DebertaLayer<DebertaSelfAttention, DebertaOutput<DebertaLayerNorm>>> layer_;
  std::optional<nn::Embedding> rel_embeddings_;
};

using DebertaV1Model = DebertaModel<DebertaV1Config, DebertaEncoder, DebertaLayerNorm>;

ModelPointer build_deberta(const Config& c, const ModelOptions& options) {
  const DebertaV1Config config(c, options);
  if (is_classification(options.task))
    return build_deberta_classifier<DebertaV1Model>(c, config, options);
  return build_checked<EncoderForMaskedLM<DebertaV1Model, BertLMPredictionHead>>(
      c, config, options, MaskedLmNames{"deberta", "cls.predictions"});
}

}  // namespace

extern const FamilyFacts kDeberta{
    .model_type = "deberta",
    .task = Task::masked_lm,
    .ties_head = Known::yes,
    .has_bos = Known::no,
    .modeling = eager_only(kEncoder),
    .classifiers = {.sequences = true, .tokens = true, .answers = true},
    .build = build_deberta};

}  // namespace memtape::family
