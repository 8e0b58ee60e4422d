// SPDX-License-Identifier: Apache-2.0
// ESM-2 with its masked-language-model head: BERT's encoder with norms before each branch, a rope,
// embeddings rescaled by how many tokens are masked, and a gelu of its own; mirroring transformers
// 5.17 models/esm/modeling_esm.py.
#include <cmath>
#include <optional>
#include <string>

#include "family/facts.h"
#include "family/masks/padding_check.h"
#include "family/parts/bert_encoder.h"
#include "family/parts/encoder_classifier.h"
#include "family/parts/encoder_masked_lm.h"
#include "family/parts/fairseq_positions.h"
#include "family/parts/position_ids.h"
#include "family/parts/rope.h"
#include "ghost/autograd/node.h"
#include "ghost/ops/comparisons.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/unary.h"
#include "nn/layer_frame.h"
#include "release/encoder_changes.h"

namespace memtape::family {
namespace {

struct EsmConfig : BertConfig {
  EsmConfig(const Config& c, const ModelOptions& options)
      : BertConfig(c, options, {.vocab_size = 33}),
        emb_layer_norm_before(!c.is_null("emb_layer_norm_before") &&
                              c.boolean("emb_layer_norm_before")),
        token_dropout(c.boolean("token_dropout", false)) {
    max_position_embeddings = c.dimension("max_position_embeddings", 1026);
    const std::string type = c.text("position_embedding_type", "absolute");
    rotates = type == "rotary";
    if (!rotates && type != "absolute")
      c.fail("position_embedding_type", "unknown type \"" + type + "\", use absolute or rotary");
    if (c.boolean("is_folding_model", false))
      c.fail("is_folding_model", "only the language model is modelled");
    rope.dim = hidden_size / num_attention_heads;
    rope.keeps_original = false;
    if (rotates && rope.dim % 2 != 0)
      c.fail("num_attention_heads", "must leave heads of an even size");
  }

  bool emb_layer_norm_before, token_dropout, rotates = false;
  RopeParameters rope;
};

/// gelu: "the implementation from the original ESM repo".
Tensor esm_gelu(const Tensor& x) {
  Tensor half = x.mul(0.5);
  return std::move(half).mul(ghost::erf(x.div(std::sqrt(2.0))).add(1.0));
}

/// q.float() * cos + rotate_half(q.float()) * sin
Tensor rotated_in_float(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  const auto half = [&x] {
    const Tensor in_float = x.to_float();
    return rotate_half(in_float);
  };
  Tensor straight = x.to_float().mul(cos);
  return std::move(straight).add(half().mul(sin));
}

/// The RotaryEmbedding that each attention had before kEsmSharesItsRope. Its tables stay for the
/// next step.
class EsmOwnRotary : public nn::Module<EsmOwnRotary> {
 public:
  EsmOwnRotary(const nn::Scope& scope, const RopeParameters& rope)
      : Module(scope), inv_freq_(compute_inv_freq(rope)) {
    scope.buffer("inv_freq", inv_freq_);
  }

  Tensor forward(Tensor& query, Tensor& key) {
    update_cos_sin_tables(key.size(2));
    Tensor rotated_query = rotated(query).to(query.dtype());
    key = rotated(key).to(key.dtype());
    return rotated_query;
  }

 private:
  void update_cos_sin_tables(std::int64_t seq_len) {
    if (cos_cached_.defined() && cos_cached_.size(0) == seq_len) return;
    const Tensor t = ghost::arange(seq_len, DType::int64).to_float();
    const Tensor freqs = t.unsqueeze(-1).mul(inv_freq_);
    const Tensor emb = ghost::cat({freqs, freqs}, -1);
    cos_cached_ = ghost::cos(emb);
    sin_cached_ = ghost::sin(emb);
  }

  /// (x * cos) + (rotate_half(x) * sin), whose halves are chunks.
  Tensor rotated(const Tensor& x) const {
    const auto half = [&x] {
      const std::vector<Tensor> halves = x.chunk(2, -1);
      return ghost::cat({halves[1].neg(), halves[0]}, -1);
    };
    Tensor straight = x.mul(cos_cached_);
    return std::move(straight).add(half().mul(sin_cached_));
  }

  Tensor inv_freq_, cos_cached_, sin_cached_;
};

class EsmSelfAttention : public nn::Module<EsmSelfAttention> {
 public:
  EsmSelfAttention(const nn::Scope& scope, const EsmConfig& c)
      : Module(scope),
        call_{.implementation = c.attention,
              .dropout = c.attention_probs_dropout_prob,
              .is_causal = false,
              .eager_softmax = EagerSoftmax::plain},
        attention_head_size_(c.hidden_size / c.num_attention_heads),
        query_(scope / "query", c.hidden_size, c.hidden_size),
        key_(scope / "key", c.hidden_size, c.hidden_size),
        value_(scope / "value", c.hidden_size, c.hidden_size) {
    if (c.rotates && !ghost::has(changes::kEsmSharesItsRope))
      rotary_embeddings_.emplace(scope / "rotary_embeddings", c.rope);
  }

  Tensor forward(const Tensor& hidden_states, const Tensor& attention_mask, const CosSin& cos_sin) {
    const Dims input_shape = hidden_states.sizes().leading();
    const Dims hidden_shape = input_shape.with(-1).with(attention_head_size_);
    Tensor query_layer = query_(hidden_states).view(hidden_shape).transpose(1, 2);
    Tensor key_layer = key_(hidden_states).view(hidden_shape).transpose(1, 2);
    const Tensor value_layer = value_(hidden_states).view(hidden_shape).transpose(1, 2);
    query_layer = query_layer.mul(0.5);
    if (rotary_embeddings_) query_layer = rotary_embeddings_->forward(query_layer, key_layer);
    if (cos_sin.first.defined()) rotate(query_layer, key_layer, cos_sin);
    const Tensor attn_output =
        attention_interface(call_, query_layer, key_layer, value_layer, attention_mask);
    return attn_output.reshape(input_shape.with(-1)).contiguous();
  }

 private:
  static void rotate(Tensor& query_layer, Tensor& key_layer, const CosSin& cos_sin) {
    const Tensor cos = cos_sin.first.unsqueeze(1), sin = cos_sin.second.unsqueeze(1);
    const Tensor q_embed = rotated_in_float(query_layer, cos, sin);
    const Tensor k_embed = rotated_in_float(key_layer, cos, sin);
    Tensor rotated_query = q_embed.to(query_layer.dtype());
    key_layer = k_embed.to(query_layer.dtype());
    query_layer = std::move(rotated_query);
  }

  AttentionCall call_;
  std::int64_t attention_head_size_;
  nn::Linear query_, key_, value_;
  std::optional<EsmOwnRotary> rotary_embeddings_;
};

/// EsmSelfOutput and EsmOutput.
class EsmOutput : public nn::Module<EsmOutput> {
 public:
  EsmOutput(const nn::Scope& scope, std::int64_t in_features, const EsmConfig& c)
      : Module(scope),
        dense_(scope / "dense", in_features, c.hidden_size),
        dropout_(scope / "dropout", c.hidden_dropout_prob) {}

  Tensor forward(const Tensor& x, const Tensor& input_tensor) {
    Tensor hidden_states = dense_(x);
    hidden_states = dropout_(hidden_states);
    hidden_states = hidden_states.add(input_tensor);
    return hidden_states;
  }

 private:
  nn::Linear dense_;
  nn::Dropout dropout_;
};

class EsmAttention : public nn::Module<EsmAttention> {
 public:
  EsmAttention(const nn::Scope& scope, const EsmConfig& c)
      : Module(scope),
        self_(scope / "self", c),
        output_(scope / "output", c.hidden_size, c),
        layer_norm_(scope / "LayerNorm", c.hidden_size) {}

  Tensor forward(const Tensor& hidden_states, const Tensor& attention_mask,
                 const CosSin& position_embeddings) {
    const nn::LayerFrame frame;  // attention's weights go with this module, not the layer
    const Tensor hidden_states_ln = layer_norm_(hidden_states);
    Tensor attn_output = self_(hidden_states_ln, attention_mask, position_embeddings);
    attn_output = output_(attn_output, hidden_states);
    return attn_output;
  }

 private:
  EsmSelfAttention self_;
  EsmOutput output_;
  nn::LayerNorm layer_norm_;
};

class EsmIntermediate : public nn::Module<EsmIntermediate> {
 public:
  EsmIntermediate(const nn::Scope& scope, const EsmConfig& c)
      : Module(scope), dense_(scope / "dense", c.hidden_size, c.intermediate_size) {}

  Tensor forward(const Tensor& x) {
    Tensor hidden_states = dense_(x);
    hidden_states = esm_gelu(hidden_states);
    return hidden_states;
  }

 private:
  nn::Linear dense_;
};

class EsmLayer : public nn::GradientCheckpointingLayer<EsmLayer> {
 public:
  EsmLayer(const nn::Scope& scope, const EsmConfig& c)
      : GradientCheckpointingLayer(scope),
        attention_(scope / "attention", c),
        intermediate_(scope / "intermediate", c),
        output_(scope / "output", c.intermediate_size, c),
        layer_norm_(scope / "LayerNorm", c.hidden_size) {}

  Tensor forward(const Tensor& hidden_states, const Tensor& attention_mask,
                 const CosSin& position_embeddings) {
    const Tensor attention_output = attention_(hidden_states, attention_mask, position_embeddings);
    const Tensor attention_output_ln = layer_norm_(attention_output);
    const Tensor intermediate_output = intermediate_(attention_output_ln);
    return output_(intermediate_output, attention_output);
  }

 private:
  EsmAttention attention_;
  EsmIntermediate intermediate_;
  EsmOutput output_;
  nn::LayerNorm layer_norm_;
};

/// (input_ids == mask_token_id).sum(-1): booleans are cast to int64 once the result is there
/// (aten/src/ATen/native/ReduceOpsUtils.h, make_reduction).
Tensor count_masked(const Tensor& input_ids) {
  const Tensor is_masked = ghost::eq(input_ids, ghost::kTokenId);
  const ghost::Op op("sum", {});
  Tensor counts = ghost::empty(is_masked.sizes().leading(), DType::int64);
  const Tensor in_int64 = ghost::empty(is_masked.sizes(), DType::int64);
  return counts;
}

class EsmEmbeddings : public nn::Module<EsmEmbeddings> {
 public:
  EsmEmbeddings(const nn::Scope& scope, const EsmConfig& c)
      : Module(scope),
        token_dropout_(c.token_dropout),
        word_embeddings(scope / "word_embeddings", c.vocab_size, c.hidden_size) {
    if (c.emb_layer_norm_before) layer_norm_.emplace(scope / "layer_norm", c.hidden_size);
    position_ids_.emplace(scope, c.max_position_embeddings);
    if (!c.rotates)
      position_embeddings_.emplace(scope / "position_embeddings", c.max_position_embeddings,
                                   c.hidden_size);
  }

  void init_weights() const { position_ids_->init_weights(); }

  Tensor forward(const Tensor& input_ids, const Tensor& attention_mask) {
    const Tensor position_ids = create_position_ids_from_input_ids(
        input_ids, ghost::has(changes::kEsmKnowsNoPast) ? PastLength::left_out : PastLength::added);
    const Tensor inputs_embeds = word_embeddings(input_ids);
    Tensor embeddings = inputs_embeds, src_lengths, mask_ratio_observed, position_embeddings;
    if (token_dropout_) {
      embeddings =
          ghost::masked_fill(embeddings, ghost::eq(input_ids, ghost::kTokenId).unsqueeze(-1), 0);
      if (attention_mask.defined()) src_lengths = attention_mask.sum(-1);
      mask_ratio_observed = count_masked(input_ids).to_float();
      mask_ratio_observed = attention_mask.defined()
                                ? std::move(mask_ratio_observed).div(src_lengths)
                                : std::move(mask_ratio_observed).div(2.0);
      embeddings = rescaled(embeddings, mask_ratio_observed);
    }
    if (position_embeddings_) {
      position_embeddings = (*position_embeddings_)(position_ids);
      embeddings = embeddings.add(position_embeddings);
    }
    if (layer_norm_) embeddings = (*layer_norm_)(embeddings);
    if (attention_mask.defined())
      embeddings = embeddings.mul(attention_mask.unsqueeze(-1)).to(embeddings.dtype());
    return embeddings;
  }

 private:
  /// embeddings * (1 - mask_ratio_train) / (1 - mask_ratio_observed)
  static Tensor rescaled(const Tensor& embeddings, const Tensor& mask_ratio_observed) {
    Tensor kept = embeddings.mul(0.88);
    return std::move(kept)
        .div(ghost::rsub(1.0, mask_ratio_observed).unsqueeze(-1).unsqueeze(-1))
        .to(embeddings.dtype());
  }

  bool token_dropout_;

 public:
  nn::Embedding word_embeddings;

 private:
  std::optional<nn::LayerNorm> layer_norm_;
  std::optional<PositionIds> position_ids_;
  std::optional<nn::Embedding> position_embeddings_;
};

class EsmModel : public nn::Module<EsmModel> {
 public:
  EsmModel(const nn::Scope& scope, const EsmConfig& c)
      : Module(scope), config_(c), embeddings(scope / "embeddings", c) {
    if (c.rotates && ghost::has(changes::kEsmSharesItsRope))
      rotary_embeddings_.emplace(scope / "rotary_embeddings", c.rope);
    layer_.emplace(scope / "encoder" / "layer", c.num_hidden_layers, c);
    emb_layer_norm_after_.emplace(scope / "encoder" / "emb_layer_norm_after", c.hidden_size);
    regression_.emplace(scope / "contact_head" / "regression",
                        c.num_hidden_layers * c.num_attention_heads, 1);
    embeddings.init_weights();
    if (rotary_embeddings_) rotary_embeddings_->init_weights();
  }

  Tensor forward(const Tensor& input_ids, const Tensor& given_mask) {
    const bool masks_first = !ghost::has(changes::kEsmRenamesItsMask);
    EncoderMask mask;
    if (masks_first) mask = mask_before_embeddings(input_ids, given_mask);
    const Tensor inputs_embeds = embeddings(input_ids, masks_first ? mask.given : given_mask);
    if (!masks_first) mask = mask_of(given_mask, inputs_embeds);
    const Tensor& attention_mask = mask.extended;
    Tensor position_ids;
    CosSin position_embeddings;
    if (rotary_embeddings_) {
      position_ids = ghost::arange(inputs_embeds.size(1), DType::int64).unsqueeze(0);
      position_embeddings = (*rotary_embeddings_)(inputs_embeds, position_ids);
    }
    Tensor hidden_states = inputs_embeds;
    for (EsmLayer& layer_module : *layer_)
      hidden_states = layer_module(hidden_states, attention_mask, position_embeddings);
    return (*emb_layer_norm_after_)(hidden_states);
  }

 private:
  EncoderMask mask_before_embeddings(const Tensor& input_ids, const Tensor& given_mask) const {
    if (!given_mask.defined()) look_for_padding(input_ids);
    return extended_mask(AttentionImplementation::eager, given_mask, input_ids.sizes(),
                         embeddings.word_embeddings.weight.dtype());
  }

  EncoderMask mask_of(const Tensor& given_mask, const Tensor& inputs_embeds) const {
    if (ghost::has(changes::kEsmMasksAreShared))
      return {.given = {},
              .extended = create_bidirectional_mask(
                  {.attention = config_.attention, .attention_mask = given_mask}, inputs_embeds)};
    EncoderMask mask =  // in numbers for sdpa, too, whatever it hides
        extended_mask(AttentionImplementation::eager, given_mask,
                      Dims{inputs_embeds.size(0), inputs_embeds.size(1)}, inputs_embeds.dtype());
    mask.given = {};
    return mask;
  }

  EsmConfig config_;

 public:
  EsmEmbeddings embeddings;

 private:
  std::optional<RotaryEmbedding> rotary_embeddings_;
  std::optional<nn::ModuleList<EsmLayer>> layer_;
  std::optional<nn::LayerNorm> emb_layer_norm_after_;
  std::optional<nn::Linear> regression_;
};

class EsmLMHead : public nn::Module<EsmLMHead> {
 public:
  EsmLMHead(const nn::Scope& scope, const EsmConfig& c)
      : Module(scope),
        dense_(scope / "dense", c.hidden_size, c.hidden_size),
        layer_norm_(scope / "layer_norm", c.hidden_size),
        decoder_(scope / "decoder", c.hidden_size, c.vocab_size, false),
        bias_(scope.parameter("bias", {c.vocab_size})) {}

  void tie(const Tensor& table) { nn::tie(decoder_, table); }

  Tensor forward(const Tensor& features) {
    Tensor x = dense_(features);
    x = esm_gelu(x);
    x = layer_norm_(x);
    x = decoder_(x).add(bias_);
    return x;
  }

 private:
  nn::Linear dense_;
  nn::LayerNorm layer_norm_;
  nn::Linear decoder_;
  Tensor bias_;
};

ModelPointer build_esm(const Config& c, const ModelOptions& options) {
  const EsmConfig config(c, options);
  if (!is_classification(options.task))
    return build_checked<EncoderForMaskedLM<EsmModel, EsmLMHead>>(c, config, options,
                                                                  MaskedLmNames{"esm", "lm_head"});
  ModelOptions classifier = options;
  classifier.classifier_dropout.reset();  // its classes drop out by hidden_dropout_prob
  if (!c.check()) return nullptr;
  return std::make_unique<EncoderForClassification<EsmModel>>(
      options, classifier_widths(classifier, config.hidden_size, config.hidden_dropout_prob),
      make_dense_head, MadeFirst::body, "esm", config);
}

}  // namespace

extern const FamilyFacts kEsm{.model_type = "esm",
                              .task = Task::masked_lm,
                              .ties_head = Known::yes,
                              .has_bos = Known::no,
                              .modeling = counting_from_padding(kEncoder),
                              .classifiers = {.sequences = true, .tokens = true},
                              .build = build_esm};

}  // namespace memtape::family
