// SPDX-License-Identifier: Apache-2.0
// DeBERTa-v2 and -v3 with their masked-language-model head and their classifiers: scores of
// contents and of relative positions, in both directions, gathered from tables of buckets;
// mirroring transformers 5.17 models/deberta_v2/modeling_deberta_v2.py. What TorchScript's fuser
// spares of the few tensors that the buckets are made of is not modelled: it is gone before the
// first layer.
#include <algorithm>
#include <optional>
#include <string>
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
#include "ghost/ops/creation.h"
#include "ghost/ops/dropout.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/logarithms.h"
#include "ghost/ops/matmul.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "ghost/ops/unary.h"
#include "release/encoder_changes.h"

namespace memtape::family {
namespace {

struct DebertaV2Config : DebertaConfig {
  DebertaV2Config(const Config& c, const ModelOptions& options)
      : DebertaConfig(c, options,
                      {.vocab_size = 128100,
                       .hidden_size = 1536,
                       .num_hidden_layers = 24,
                       .num_attention_heads = 24,
                       .intermediate_size = 6144,
                       .type_vocab_size = 0}),
        share_att_key(c.boolean("share_att_key", false)),
        norms_rel_ebd(c.text("norm_rel_ebd", "none").find("layer_norm") != std::string::npos) {
    position_buckets = c.integer("position_buckets", -1);
    if (c.integer("conv_kernel_size", 0) > 0) c.fail("conv_kernel_size", "is not modelled");
    if (c.dimension("attention_head_size", head_size()) != head_size())
      c.fail("attention_head_size", "other than hidden_size / num_attention_heads is not modelled");
  }

  /// pos_ebd_size: buckets to either side.
  std::int64_t span() const {
    return position_buckets > 0 ? position_buckets : max_relative_positions;
  }

  bool share_att_key, norms_rel_ebd;
  std::int64_t position_buckets;
};

/// abs_pos of make_log_bucket_position: how far tokens lie apart, and one value for all that are
/// near and have a bucket each.
Tensor distances_to_bucket(const Tensor& relative_pos) {
  Tensor is_near = ghost::lt(relative_pos, ghost::kLimit);
  is_near = ghost::bitwise_and(std::move(is_near), ghost::gt(relative_pos, -ghost::kLimit));
  const Tensor nearest = ghost::zeros({}, relative_pos.dtype());
  const Tensor distance = ghost::abs(relative_pos);
  return ghost::where(is_near, nearest, distance);
}

/// make_log_bucket_position, as TorchScript's interpreter runs it: each value goes with its last
/// use.
Tensor make_log_bucket_position(const Tensor& relative_pos) {
  Tensor sign = ghost::sign(relative_pos);
  Tensor abs_pos = distances_to_bucket(relative_pos);
  Tensor log_pos = ghost::log(abs_pos.div(2.0)).div(2.0);
  log_pos = ghost::ceil(std::move(log_pos).mul(2.0));
  log_pos = std::move(log_pos).add(2.0);
  const Tensor is_near = ghost::le(std::move(abs_pos), ghost::kLimit);
  const Tensor exact = relative_pos.to(log_pos.dtype());
  const Tensor logarithmic = std::move(log_pos).mul(std::move(sign));
  return ghost::where(is_near, exact, logarithmic);
}

/// make_log_bucket_position before kDebertaDropsPlainly, as Python runs it: its names live until it
/// returns.
Tensor make_log_bucket_position_in_python(const Tensor& relative_pos) {
  const Tensor sign = ghost::sign(relative_pos);
  const Tensor abs_pos = distances_to_bucket(relative_pos);
  Tensor log_pos = ghost::log(abs_pos.div(2.0)).div(2.0).mul(2.0);
  log_pos = ghost::ceil(std::move(log_pos)).add(2.0);
  const Tensor is_near = ghost::le(abs_pos, ghost::kLimit);
  const Tensor exact = relative_pos.to(log_pos.dtype());
  const Tensor logarithmic = log_pos.mul(sign);
  return ghost::where(is_near, exact, logarithmic);
}

/// [1, S, S] int64.
Tensor build_relative_position(std::int64_t size, bool in_buckets) {
  const Tensor q_ids = ghost::arange(size, DType::int64);
  const Tensor k_ids = ghost::arange(size, DType::int64);
  Tensor rel_pos_ids = q_ids.unsqueeze(1).sub(k_ids.unsqueeze(0));
  if (in_buckets)
    rel_pos_ids = ghost::has(changes::kDebertaDropsPlainly)
                      ? make_log_bucket_position(rel_pos_ids)
                      : make_log_bucket_position_in_python(rel_pos_ids);
  return rel_pos_ids.to(DType::int64).unsqueeze(0);
}

class DisentangledSelfAttention : public nn::Module<DisentangledSelfAttention> {
 public:
  DisentangledSelfAttention(const nn::Scope& scope, const DebertaV2Config& c)
      : Module(scope),
        config_(c),
        query_proj_(scope / "query_proj", c.hidden_size, c.hidden_size),
        key_proj_(scope / "key_proj", c.hidden_size, c.hidden_size),
        value_proj_(scope / "value_proj", c.hidden_size, c.hidden_size) {
    if (!c.relative_attention || c.share_att_key) return;
    if (c.c2p) pos_key_proj_.emplace(scope / "pos_key_proj", c.hidden_size, c.hidden_size);
    if (c.p2c) pos_query_proj_.emplace(scope / "pos_query_proj", c.hidden_size, c.hidden_size);
  }

  Tensor forward(const Tensor& hidden_states, const Tensor& given_mask, const Tensor& relative_pos,
                 const Tensor& given_rel_embeddings) {
    const std::int64_t heads = config_.num_attention_heads;
    const Tensor query_layer = transpose_for_scores(query_proj_(hidden_states));
    const Tensor key_layer = transpose_for_scores(key_proj_(hidden_states));
    const Tensor value_layer = transpose_for_scores(value_proj_(hidden_states));
    Tensor attention_scores = ghost::bmm(query_layer, key_layer.transpose(-1, -2).div(2.0));
    Tensor rel_embeddings = given_rel_embeddings, rel_att;
    if (config_.relative_attention) {
      rel_embeddings = deberta_dropout(rel_embeddings, config_.hidden_dropout_prob);
      rel_att = disentangled_attention_bias(query_layer, key_layer, relative_pos, rel_embeddings);
    }
    if (rel_att.defined()) attention_scores = attention_scores.add(rel_att);
    const std::int64_t length = attention_scores.size(-1);
    attention_scores = attention_scores.view({-1, heads, length, length});
    Tensor attention_mask = given_mask;
    Tensor attention_probs = deberta_softmax(attention_scores, attention_mask);
    attention_probs = deberta_dropout(attention_probs, config_.attention_probs_dropout_prob);
    Tensor context_layer = ghost::bmm(attention_probs.view({-1, length, length}), value_layer);
    context_layer = context_layer.view({-1, heads, length, config_.head_size()})
                        .permute({0, 2, 1, 3})
                        .contiguous();
    return context_layer.view(hidden_states.sizes());
  }

 private:
  /// [B, S, H * D] to [B * H, S, D].
  Tensor transpose_for_scores(const Tensor& x) const {
    const std::int64_t length = x.size(1);
    return x.view({x.size(0), length, config_.num_attention_heads, config_.head_size()})
        .permute({0, 2, 1, 3})
        .contiguous()
        .view({-1, length, config_.head_size()});
  }

  /// transpose_for_scores(...).repeat(rows, 1, 1) of the positions' projection.
  Tensor repeated_for_scores(const Tensor& projected, std::int64_t rows) const {
    const Tensor scores = transpose_for_scores(projected);
    if (rows == 1) return ghost::clone_contiguous(scores);
    const Dims s = scores.sizes();
    return scores.unsqueeze(0).expand({rows, s[0], s[1], s[2]}).reshape({rows * s[0], s[1], s[2]});
  }

  /// torch.gather(att, dim=-1, index=clamp(positions + att_span, 0, 2 * att_span - 1)).
  static Tensor gathered(const Tensor& att, const Tensor& places) {
    const std::int64_t length = att.size(1);
    return ghost::gather(att, places.squeeze(0).expand({att.size(0), length, length}));
  }

  Tensor disentangled_attention_bias(const Tensor& query_layer, const Tensor& key_layer,
                                     const Tensor& given_relative_pos,
                                     const Tensor& given_rel_embeddings) {
    const Tensor relative_pos = given_relative_pos.unsqueeze(1);
    const std::int64_t rows = query_layer.size(0) / config_.num_attention_heads;
    const Tensor rel_embeddings = given_rel_embeddings.slice(0, 0, 2 * config_.span()).unsqueeze(0);
    Tensor pos_query_layer, pos_key_layer;
    if (config_.share_att_key) {
      pos_query_layer = repeated_for_scores(query_proj_(rel_embeddings), rows);
      pos_key_layer = repeated_for_scores(key_proj_(rel_embeddings), rows);
    } else {
      if (config_.c2p) pos_key_layer = repeated_for_scores((*pos_key_proj_)(rel_embeddings), rows);
      if (config_.p2c)
        pos_query_layer = repeated_for_scores((*pos_query_proj_)(rel_embeddings), rows);
    }
    Tensor score, c2p_att, c2p_pos, p2c_att, p2c_pos;
    if (config_.c2p) {
      c2p_att = ghost::bmm(query_layer, pos_key_layer.transpose(-1, -2));
      c2p_pos = ghost::clamp(relative_pos.add(1.0), {.min = 0, .max = ghost::kLimit}).squeeze(0);
      c2p_att = gathered(c2p_att, c2p_pos);
      score = c2p_att.div(2.0).add(0.0);
    }
    if (config_.p2c) {
      p2c_pos =
          ghost::clamp(relative_pos.neg().add(1.0), {.min = 0, .max = ghost::kLimit}).squeeze(0);
      p2c_att = ghost::bmm(key_layer, pos_query_layer.transpose(-1, -2));
      p2c_att = gathered(p2c_att, p2c_pos).transpose(-1, -2);
      if (score.defined())
        ghost::add_(score, p2c_att.div(2.0));
      else
        score = p2c_att.div(2.0).add(0.0);
    }
    return score;
  }

  DebertaV2Config config_;
  nn::Linear query_proj_, key_proj_, value_proj_;
  std::optional<nn::Linear> pos_key_proj_, pos_query_proj_;
};

class DebertaV2Encoder : public nn::Module<DebertaV2Encoder> {
 public:
  DebertaV2Encoder(const nn::Scope& scope, const DebertaV2Config& c)
      : Module(scope), config_(c), layer_(scope / "layer", c.num_hidden_layers, c) {
    if (c.relative_attention)
      rel_embeddings_.emplace(scope / "rel_embeddings", 2 * c.span(), c.hidden_size);
    if (c.norms_rel_ebd) layer_norm_.emplace(scope / "LayerNorm", c.hidden_size);
  }

  /// The states after each layer, which the model holds until it returns.
  std::vector<Tensor> forward(const Tensor& embeddings, const Tensor& input_mask) {
    const Tensor attention_mask = deberta_attention_mask(input_mask);
    Tensor relative_pos, rel_embeddings;
    if (config_.relative_attention) {
      relative_pos = build_relative_position(embeddings.size(1), config_.position_buckets > 0);
      rel_embeddings = rel_embeddings_->weight;
      if (layer_norm_) rel_embeddings = (*layer_norm_)(rel_embeddings);
    }
    return all_hidden_states_of(layer_, embeddings, attention_mask, relative_pos, rel_embeddings);
  }

 private:
  DebertaV2Config config_;
  nn::ModuleList<DebertaLayer<DisentangledSelfAttention, DebertaOutput<nn::LayerNorm>>> layer_;
  std::optional<nn::Embedding> rel_embeddings_;
  std::optional<nn::LayerNorm> layer_norm_;
};

using DebertaV2Model = DebertaModel<DebertaV2Config, DebertaV2Encoder, nn::LayerNorm>;

ModelPointer build_deberta_v2(const Config& c, const ModelOptions& options) {
  const DebertaV2Config config(c, options);
  if (is_classification(options.task))
    return build_deberta_classifier<DebertaV2Model>(c, config, options);
  return build_checked<EncoderForMaskedLM<DebertaV2Model, BertLMPredictionHead>>(
      c, config, options, MaskedLmNames{"deberta", "cls.predictions"});
}

}  // namespace

extern const FamilyFacts kDebertaV2{
    .model_type = "deberta-v2",
    .task = Task::masked_lm,
    .ties_head = Known::yes,
    .has_bos = Known::no,
    .modeling = eager_only(kEncoder),
    .classifiers = {.sequences = true, .tokens = true, .answers = true, .choices = true},
    .build = build_deberta_v2};

}  // namespace memtape::family
