// SPDX-License-Identifier: Apache-2.0
// ModernBERT with its masked-language-model head and its classifiers: rotary positions, two layers
// in three that see a window to both sides, gated MLPs, norms before each branch; mirroring
// transformers 5.17 models/modernbert/modeling_modernbert.py.
#include <memory>
#include <optional>
#include <string>
#include <tuple>

#include "family/facts.h"
#include "family/losses/masked_lm_loss_function.h"
#include "family/masks/masking.h"
#include "family/masks/padding_check.h"
#include "family/parts/activations.h"
#include "family/parts/attention_interface.h"
#include "family/parts/config_checks.h"
#include "family/parts/decoder_config.h"
#include "family/parts/encoder_classifier.h"
#include "family/parts/rope.h"
#include "ghost/ops/attention.h"
#include "ghost/ops/comparisons.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/views.h"
#include "nn/checkpointing.h"
#include "nn/layer_stack.h"
#include "nn/layers.h"
#include "release/encoder_changes.h"

namespace memtape::family {
namespace {

std::vector<LayerType> attention_types(const Config& c, std::int64_t num_hidden_layers) {
  std::vector<LayerType> types = read_layer_types(
      c, num_hidden_layers, [](std::int64_t) { return LayerType::full_attention; });
  if (!c.is_null("layer_types")) return types;
  const std::int64_t every = c.dimension("global_attn_every_n_layers", 3);
  for (std::int64_t i = 0; i < num_hidden_layers; ++i)
    if (i % every != 0) types[static_cast<std::size_t>(i)] = LayerType::sliding_attention;
  return types;
}

struct ModernBertConfig {
  ModernBertConfig(const Config& c, const ModelOptions& options)
      : vocab_size(c.dimension("vocab_size", 50368)),
        hidden_size(c.dimension("hidden_size", 768)),
        intermediate_size(c.dimension("intermediate_size", 1152)),
        num_hidden_layers(c.layers("num_hidden_layers", 22)),
        num_attention_heads(c.dimension("num_attention_heads", 12)),
        head_dim(hidden_size / num_attention_heads),
        sliding_window(c.dimension("local_attention", 128) / 2),
        hidden_activation(activation(c, "hidden_activation", "gelu")),
        classifier_activation(activation(c, "classifier_activation", "gelu")),
        attention_dropout(c.number("attention_dropout", 0.0)),
        embedding_dropout(c.number("embedding_dropout", 0.0)),
        mlp_dropout(c.number("mlp_dropout", 0.0)),
        norm_bias(c.boolean("norm_bias", false)),
        attention_bias(c.boolean("attention_bias", false)),
        mlp_bias(c.boolean("mlp_bias", false)),
        decoder_bias(c.boolean("decoder_bias", true)),
        classifier_bias(c.boolean("classifier_bias", false)),
        takes_mean(c.text("classifier_pooling", "cls") == "mean"),
        tie_word_embeddings(c.boolean("tie_word_embeddings", true)),
        layer_types(attention_types(c, num_hidden_layers)),
        ropes(layer_ropes(c, head_dim, layer_types)),
        attention(options.attention) {
    check_divides(c, "num_attention_heads", num_attention_heads, hidden_size);
    if (c.boolean("sparse_prediction", false))
      c.fail("sparse_prediction", "scores labels by their values: memory is not determined");
  }

  std::int64_t vocab_size, hidden_size, intermediate_size, num_hidden_layers, num_attention_heads,
      head_dim, sliding_window;
  nn::Activation hidden_activation, classifier_activation;
  double attention_dropout, embedding_dropout, mlp_dropout;
  bool norm_bias, attention_bias, mlp_bias, decoder_bias, classifier_bias, takes_mean,
      tie_word_embeddings;
  std::vector<LayerType> layer_types;
  LayerRopes ropes;
  AttentionImplementation attention;
};

class ModernBertEmbeddings : public nn::Module<ModernBertEmbeddings> {
 public:
  ModernBertEmbeddings(const nn::Scope& scope, const ModernBertConfig& c)
      : Module(scope),
        tok_embeddings(scope / "tok_embeddings", c.vocab_size, c.hidden_size),
        norm_(scope / "norm", c.hidden_size, c.norm_bias),
        drop_(scope / "drop", c.embedding_dropout) {}

  Tensor forward(const Tensor& input_ids) { return drop_(norm_(tok_embeddings(input_ids))); }

  nn::Embedding tok_embeddings;

 private:
  nn::LayerNorm norm_;
  nn::Dropout drop_;
};

class ModernBertMLP : public nn::Module<ModernBertMLP> {
 public:
  ModernBertMLP(const nn::Scope& scope, const ModernBertConfig& c)
      : Module(scope),
        wi_(scope / "Wi", c.hidden_size, 2 * c.intermediate_size, c.mlp_bias),
        act_(c.hidden_activation),
        drop_(scope / "drop", c.mlp_dropout),
        wo_(scope / "Wo", c.intermediate_size, c.hidden_size, c.mlp_bias) {}

  Tensor forward(const Tensor& hidden_states) {
    const std::vector<Tensor> input_gate = wi_(hidden_states).chunk(2, -1);
    return wo_(drop_(act_(input_gate[0]).mul(input_gate[1])));
  }

 private:
  nn::Linear wi_;
  nn::Activation act_;
  nn::Dropout drop_;
  nn::Linear wo_;
};

/// (x.float() * cos) + (rotate_half(x.float()) * sin).
Tensor rotate_in_float(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  const auto rotated = [&] {
    const Tensor x_float = x.to_float();
    return rotate_half(x_float);
  };
  return x.to_float().mul(cos).add(rotated().mul(sin));
}

/// ModernBERT's apply_rotary_pos_emb: in float32 whatever the dtype, then cast back.
std::pair<Tensor, Tensor> apply_rotary_in_float(const Tensor& q, const Tensor& k,
                                                const CosSin& cos_sin) {
  const Tensor cos = cos_sin.first.unsqueeze(1), sin = cos_sin.second.unsqueeze(1);
  const Tensor q_embed = rotate_in_float(q, cos, sin);
  const Tensor k_embed = rotate_in_float(k, cos, sin);
  Tensor q_cast = q_embed.to(q.dtype());
  return {std::move(q_cast), k_embed.to(k.dtype())};
}

class ModernBertAttention : public nn::Module<ModernBertAttention> {
 public:
  ModernBertAttention(const nn::Scope& scope, const ModernBertConfig& c, LayerType type)
      : Module(scope),
        call_{.implementation = c.attention, .dropout = c.attention_dropout, .is_causal = false},
        head_dim_(c.head_dim),
        wqkv_(scope / "Wqkv", c.hidden_size, 3 * c.head_dim * c.num_attention_heads,
              c.attention_bias),
        wo_(scope / "Wo", c.hidden_size, c.hidden_size, c.attention_bias),
        out_drop_(scope / "out_drop", c.attention_dropout) {
    if (ghost::has(changes::kModernBertSharesItsRope)) return;
    for (const LayerRopes::Of& of : c.ropes.types)
      if (of.type == type) {
        rotary_emb_.emplace(scope / "rotary_emb", of.rope);
        return;
      }
  }

  Tensor forward(const Tensor& hidden_states, const CosSin& position_embeddings,
                 const Tensor& attention_mask) {
    if (!ghost::has(changes::kModernBertCallsTheInterface))
      return forward_packed(hidden_states, position_embeddings, attention_mask);
    const Dims input_shape = hidden_states.sizes().leading();
    Tensor qkv = wqkv_(hidden_states);
    qkv = qkv.view(input_shape.with(3).with(-1).with(head_dim_));
    const std::vector<Tensor> unbound = qkv.chunk(3, -3);
    Tensor query_states = unbound[0].squeeze(-3).transpose(1, 2);
    Tensor key_states = unbound[1].squeeze(-3).transpose(1, 2);
    const Tensor value_states = unbound[2].squeeze(-3).transpose(1, 2);
    std::tie(query_states, key_states) =
        apply_rotary_in_float(query_states, key_states, position_embeddings);
    Tensor attn_output =
        attention_interface(call_, query_states, key_states, value_states, attention_mask);
    attn_output = attn_output.reshape(input_shape.with(-1)).contiguous();
    attn_output = out_drop_(wo_(attn_output));
    return attn_output;
  }

 private:
  /// Before kModernBertCallsTheInterface; `position_embeddings` holds positions in the place of cos
  /// and sin where this attention computes both.
  Tensor forward_packed(const Tensor& hidden_states, const CosSin& position_embeddings,
                        const Tensor& attention_mask) {
    Tensor qkv = wqkv_(hidden_states);
    qkv = qkv.view(hidden_states.sizes().leading().with(3).with(-1).with(head_dim_));
    const Tensor attn_output = attend_packed(qkv, position_embeddings, attention_mask);
    return out_drop_(wo_(attn_output));
  }

  /// sdpa_attention_forward and eager_attention_forward of that time.
  Tensor attend_packed(const Tensor& qkv, const CosSin& position_embeddings,
                       const Tensor& attention_mask) {
    const CosSin cos_sin =
        rotary_emb_ ? (*rotary_emb_)(qkv, position_embeddings.first) : position_embeddings;
    const std::vector<Tensor> unbound = ghost::unbind(qkv.transpose(3, 1), 2);
    const auto [query, key] = apply_rotary_pos_emb(unbound[0], unbound[1], cos_sin);
    const Tensor& value = unbound[2];
    const Dims joined = qkv.sizes().leading().leading().leading().with(-1);
    if (call_.implementation == AttentionImplementation::eager)
      return attention_interface(call_, query, key, value, attention_mask).reshape(joined);
    const double dropout = ghost::session().training ? call_.dropout : 0.0;
    return ghost::scaled_dot_product_attention(query, key, value, attention_mask,
                                               {.dropout = dropout})
        .transpose(1, 2)
        .contiguous()
        .view(joined);
  }

  AttentionCall call_;
  std::int64_t head_dim_;
  nn::Linear wqkv_, wo_;
  nn::Dropout out_drop_;
  std::optional<RotaryEmbedding> rotary_emb_;  ///< before kModernBertSharesItsRope
};

class ModernBertEncoderLayer : public nn::GradientCheckpointingLayer<ModernBertEncoderLayer> {
 public:
  ModernBertEncoderLayer(const nn::Scope& scope, const ModernBertConfig& c, nn::ListIndex layer_idx)
      : GradientCheckpointingLayer(scope),
        attn_norm_(layer_idx == 0 ? nullptr
                                  : std::make_unique<nn::LayerNorm>(scope / "attn_norm",
                                                                    c.hidden_size, c.norm_bias)),
        attn_(scope / "attn", c, c.layer_types[static_cast<std::size_t>(layer_idx.value)]),
        mlp_norm_(scope / "mlp_norm", c.hidden_size, c.norm_bias),
        mlp_(scope / "mlp", c) {}

  Tensor forward(const Tensor& x, const Tensor& attention_mask, const CosSin& position_embeddings) {
    const Tensor attn_output = attn_norm_
                                   ? attn_((*attn_norm_)(x), position_embeddings, attention_mask)
                                   : attn_(x, position_embeddings, attention_mask);
    Tensor hidden_states = x.add(attn_output), mlp_output;
    if (ghost::has(changes::kModernBertCallsTheInterface))
      return hidden_states.add(mlp_(mlp_norm_(hidden_states)));
    mlp_output = mlp_(mlp_norm_(hidden_states));
    return hidden_states.add(mlp_output);
  }

 private:
  std::unique_ptr<nn::LayerNorm> attn_norm_;
  ModernBertAttention attn_;
  nn::LayerNorm mlp_norm_;
  ModernBertMLP mlp_;
};

/// The masks that all batches had before kModernBertCallsTheInterface.
struct ModernBertMasks {
  Tensor full_attention, sliding_attention;
};

/// _update_attention_mask: _prepare_4d_attention_mask, and the same where the window, which the host
/// makes, hides more.
ModernBertMasks update_attention_mask(const Tensor& attention_mask, DType dtype) {
  const std::int64_t batch = attention_mask.size(0), length = attention_mask.size(1);
  ModernBertMasks masks;
  {
    const Dims sizes{batch, 1, length, length};
    const Tensor expanded_mask = ghost::empty(sizes, dtype);
    const Tensor inverted_mask = ghost::rsub(1.0, expanded_mask);
    masks.full_attention =
        ghost::masked_fill(inverted_mask, inverted_mask.to(DType::boolean), ghost::kLowest);
  }
  const Tensor window_mask = ghost::empty({1, 1, length, length}, DType::boolean);
  masks.sliding_attention =
      ghost::masked_fill(masks.full_attention, ghost::logical_not(window_mask), ghost::kLowest);
  return masks;
}

class ModernBertModel : public nn::Module<ModernBertModel> {
 public:
  ModernBertModel(const nn::Scope& scope, const ModernBertConfig& c)
      : Module(scope),
        embeddings(scope / "embeddings", c),
        dtype_(scope.dtype()),
        attention_(c.attention),
        sliding_window_(c.sliding_window),
        layer_types_(c.layer_types),
        layers_(scope / "layers", c.num_hidden_layers, c),
        final_norm_(scope / "final_norm", c.hidden_size, c.norm_bias) {
    if (!ghost::has(changes::kModernBertSharesItsRope)) return;
    rotary_emb_.emplace(scope / "rotary_emb", c.ropes);
    rotary_emb_->init_weights();
  }

  Tensor forward(const Tensor& input_ids, const Tensor& given_mask) {
    if (!ghost::has(changes::kModernBertCallsTheInterface))
      return forward_with_masks(input_ids, given_mask);
    const Tensor position_ids = ghost::arange(input_ids.size(1), DType::int64).unsqueeze(0);
    Tensor hidden_states = embeddings(input_ids);
    const Tensor inputs_embeds = hidden_states;  // of mask_kwargs
    const MaskRequest request{
        .attention = attention_, .attention_mask = given_mask, .sliding_window = sliding_window_};
    const Tensor full_attention = create_bidirectional_mask(request, inputs_embeds);
    const Tensor sliding_attention =
        create_bidirectional_sliding_window_mask(request, inputs_embeds);
    const LayerCosSin position_embeddings = (*rotary_emb_)(hidden_states, position_ids);
    return run_layers(std::move(hidden_states), {full_attention, sliding_attention},
                      position_embeddings);
  }

  ModernBertEmbeddings embeddings;

 private:
  Tensor forward_with_masks(const Tensor& input_ids, const Tensor& given_mask) {
    if (!given_mask.defined()) look_for_padding(input_ids);
    const Tensor attention_mask =
        given_mask.defined() ? given_mask : ghost::ones(input_ids.sizes(), DType::boolean);
    const Tensor position_ids = ghost::arange(input_ids.size(1), DType::int64).unsqueeze(0);
    const ModernBertMasks masks = update_attention_mask(attention_mask, dtype_);
    Tensor hidden_states = embeddings(input_ids);
    const CosSin positions{position_ids, {}};
    const LayerCosSin position_embeddings = rotary_emb_
                                                ? (*rotary_emb_)(hidden_states, position_ids)
                                                : LayerCosSin{positions, positions};
    return run_layers(std::move(hidden_states), masks, position_embeddings);
  }

  Tensor run_layers(Tensor hidden_states, const ModernBertMasks& masks,
                    const LayerCosSin& position_embeddings) {
    const auto kind = [this](std::size_t layer) {
      return layer == 0 ? -1 : static_cast<int>(layer_types_[layer]);
    };
    hidden_states = nn::run_layers(
        layers_, std::move(hidden_states), nn::layer_period(layers_.size(), kind),
        [&](ModernBertEncoderLayer& encoder_layer, std::size_t index, const Tensor& x) {
          const LayerType type = layer_types_[index];
          return encoder_layer(
              x, type == LayerType::full_attention ? masks.full_attention : masks.sliding_attention,
              of_layer(position_embeddings, type));
        });
    return final_norm_(hidden_states);
  }

  DType dtype_;
  AttentionImplementation attention_;
  std::int64_t sliding_window_;
  std::vector<LayerType> layer_types_;
  nn::ModuleList<ModernBertEncoderLayer> layers_;
  nn::LayerNorm final_norm_;
  std::optional<LayerTypeRotaryEmbedding> rotary_emb_;
};

class ModernBertPredictionHead : public nn::Module<ModernBertPredictionHead> {
 public:
  ModernBertPredictionHead(const nn::Scope& scope, const ModernBertConfig& c)
      : Module(scope),
        dense_(scope / "dense", c.hidden_size, c.hidden_size, c.classifier_bias),
        act_(c.classifier_activation),
        norm_(scope / "norm", c.hidden_size, c.norm_bias) {}

  Tensor forward(const Tensor& hidden_states) { return norm_(act_(dense_(hidden_states))); }

 private:
  nn::Linear dense_;
  nn::Activation act_;
  nn::LayerNorm norm_;
};

class ModernBertForMaskedLM : public PretrainedModel {
 public:
  ModernBertForMaskedLM(const ModernBertConfig& c, const ModelOptions& options)
      : PretrainedModel(options),
        vocab_size_(c.vocab_size),
        model_(root() / "model", c),
        head_(root() / "head", c),
        decoder_(root() / "decoder", c.hidden_size, c.vocab_size, c.decoder_bias) {
    if (c.tie_word_embeddings) nn::tie(decoder_, model_.embeddings.tok_embeddings.weight);
  }

  std::string_view output_embeddings() const override { return "decoder"; }

  ModelOutput forward(const Batch& batch) override {
    const Tensor last_hidden_state = model_(batch.input_ids, batch.attention_mask);
    Tensor logits = decoder_(head_(last_hidden_state));
    Tensor loss = for_masked_lm_loss(logits, batch, vocab_size_);
    return {std::move(loss), std::move(logits)};
  }

 private:
  std::int64_t vocab_size_;
  ModernBertModel model_;
  ModernBertPredictionHead head_;
  nn::Linear decoder_;
};

/// ModernBertForSequenceClassification, TokenClassification and QuestionAnswering: the prediction
/// head over one state of each text, or over all of them.
class ModernBertClassifier final : public ClassifierHead {
 public:
  ModernBertClassifier(const nn::Scope& root, const ClassifierWidths& widths,
                       const ModernBertConfig& c, Task task)
      : task_(task),
        takes_mean_(c.takes_mean),
        head_(root / "head", c),
        drop_(root / "drop", widths.dropout),
        classifier_(root / "classifier", widths.hidden_size, widths.num_labels) {}

  Tensor logits(Tensor& features, const Tensor& attention_mask) override {
    if (task_ == Task::sequence_classification) pool_tokens(features, attention_mask, takes_mean_);
    features = head_(features);
    features = drop_(features);
    return classifier_(features);
  }

 private:
  Task task_;
  bool takes_mean_;
  ModernBertPredictionHead head_;
  nn::Dropout drop_;
  nn::Linear classifier_;
};

ModelPointer build_modernbert(const Config& c, const ModelOptions& options) {
  const ModernBertConfig config(c, options);
  if (!is_classification(options.task))
    return build_checked<ModernBertForMaskedLM>(c, config, options);
  if (!c.check()) return nullptr;
  const bool locates = options.task == Task::question_answering;
  const ClassifierWidths widths{config.hidden_size, locates ? 2 : options.num_labels,
                                options.classifier_dropout.value_or(0.0)};
  const auto make_head = [&](const nn::Scope& root, const nn::Scope*, const ModelOptions&,
                             const ClassifierWidths& of) -> std::unique_ptr<ClassifierHead> {
    return std::make_unique<ModernBertClassifier>(root, of, config, options.task);
  };
  return std::make_unique<EncoderForClassification<ModernBertModel>>(
      options, widths, make_head, MadeFirst::body, "model", config);
}

/// It once compiled parts of itself wherever it found Triton.
std::string taken_otherwise(const Config& c, const Release& release) {
  const bool compiles = c.is_null("reference_compile") || c.boolean("reference_compile");
  if (!compiles || release.has(changes::kModernBertCallsTheInterface)) return {};
  return "transformers of that time compiles ModernBERT's embeddings, MLPs and head where Triton "
         "is installed: this is the answer with \"reference_compile\": false";
}

}  // namespace

extern const FamilyFacts kModernbert{
    .model_type = "modernbert",
    .task = Task::masked_lm,
    .first = {4, 48, 0},
    .ties_head = Known::yes,
    .has_bos = Known::yes,
    .modeling = kEncoder,
    .classifiers = {.sequences = true, .tokens = true, .answers = true, .classifier_dropout = 0.0},
    .taken_otherwise = taken_otherwise,
    .build = build_modernbert};

}  // namespace memtape::family
