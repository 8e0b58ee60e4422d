// SPDX-License-Identifier: Apache-2.0
// UltraBERT: EuroBERT with a rope for each layer type and layers that see a window to both sides,
// under a head of two projections; mirroring transformers 5.24
// models/ultrabert/modular_ultrabert.py.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "family/facts.h"
#include "family/losses/masked_lm_loss_function.h"
#include "family/parts/bidirectional.h"
#include "family/parts/encoder_classifier.h"
#include "family/parts/llama_layer.h"
#include "ghost/ops/views.h"

namespace memtape::family {
namespace {

/// layer_types, or what published configurations have in their place: a window or none for each
/// layer.
std::vector<LayerType> ultrabert_layers(const Config& c, std::int64_t layers) {
  const std::vector<std::int64_t> windows = c.integers("attention_windows");
  std::vector<LayerType> types = read_layer_types(c, layers, [](std::int64_t layer) {
    return (layer + 1) % 3 != 0 ? LayerType::sliding_attention : LayerType::full_attention;
  });
  if (windows.empty() || !c.is_null("layer_types")) return types;
  if (windows.size() != types.size())
    c.fail("attention_windows", "must name " + std::to_string(layers) + " layers, names " +
                                    std::to_string(windows.size()));
  for (std::size_t i = 0; i < std::min(windows.size(), types.size()); ++i)
    types[i] = windows[i] != 0 ? LayerType::sliding_attention : LayerType::full_attention;
  return types;
}

struct UltrabertConfig : DecoderConfig {
  UltrabertConfig(const Config& c, const ModelOptions& options)
      : DecoderConfig(c, options, {}),
        prediction_head_size(c.dimension("prediction_head_size", 768)),
        classifier_dropout(c.number("classifier_dropout", 0.0)),
        takes_mean(c.text("classifier_pooling", "cls") == "mean") {
    qkv_bias = o_bias = c.boolean("attention_bias", false);
    mlp_bias = c.boolean("mlp_bias", false);
    sliding_window = c.dimension("sliding_window", 128);
    layer_types = ultrabert_layers(c, num_hidden_layers);
    ropes = layer_ropes(c, head_dim, layer_types);
  }
  std::int64_t prediction_head_size;
  double classifier_dropout;
  bool takes_mean;
  LayerRopes ropes;
};

AttentionCall attention_call(const UltrabertConfig& c) { return bidirectional_call(c); }

struct UltrabertParts : BidirectionalParts {
  using Settings = UltrabertConfig;
  using DecoderLayer = PreNormDecoderLayer<LlamaAttention>;
  using Norm = LlamaRMSNorm;
  using Rotary = LayerTypeRotaryEmbedding;
  static const LayerRopes& rope(const UltrabertConfig& c) { return c.ropes; }
  static LayerMasks make_masks(const UltrabertConfig& c, const Tensor& attention_mask,
                               const Tensor& inputs_embeds, const Tensor&) {
    const MaskRequest request{.attention = c.attention,
                              .attention_mask = attention_mask,
                              .sliding_window = *c.sliding_window};
    LayerMasks masks;
    masks.full_attention = create_bidirectional_mask(request, inputs_embeds);
    masks.sliding_attention = create_bidirectional_sliding_window_mask(request, inputs_embeds);
    return masks;
  }
};

using UltrabertModel = DecoderModel<UltrabertParts>;

class UltrabertPredictionHead : public nn::Module<UltrabertPredictionHead> {
 public:
  UltrabertPredictionHead(const nn::Scope& scope, const UltrabertConfig& c)
      : Module(scope),
        linear1_(scope / "linear1", c.hidden_size, c.prediction_head_size, false),
        linear2_(scope / "linear2", c.prediction_head_size, c.hidden_size, false),
        act_fn_(*nn::Activation::from_name("gelu_pytorch_tanh")),
        decoder(scope / "decoder", c.hidden_size, c.vocab_size, false) {}

  Tensor forward(const Tensor& x) {
    Tensor hidden_states = linear1_(x);
    hidden_states = act_fn_(hidden_states);
    hidden_states = linear2_(hidden_states);
    hidden_states = act_fn_(hidden_states);
    return decoder(hidden_states);
  }

 private:
  nn::Linear linear1_, linear2_;
  nn::Activation act_fn_;

 public:
  nn::Linear decoder;
};

class UltrabertForMaskedLM final : public PretrainedModel {
 public:
  UltrabertForMaskedLM(const UltrabertConfig& c, const ModelOptions& options)
      : PretrainedModel(options),
        vocab_size_(c.vocab_size),
        model_(root() / "model", c),
        head_(root() / "head", c) {
    if (c.tie_word_embeddings) nn::tie(head_.decoder, model_.embed_tokens.weight);
  }

  std::string_view output_embeddings() const override { return "head.decoder"; }

  ModelOutput forward(const Batch& batch) override {
    const Tensor last_hidden_state = model_(batch.input_ids, batch.attention_mask);
    Tensor logits = head_(last_hidden_state);
    Tensor loss = for_masked_lm_loss(logits, batch, vocab_size_);
    return {std::move(loss), std::move(logits)};
  }

 private:
  std::int64_t vocab_size_;
  UltrabertModel model_;
  UltrabertPredictionHead head_;
};

/// ModernBERT's classifier without its head: one state of each text, or all of them.
class UltrabertClassifier final : public ClassifierHead {
 public:
  UltrabertClassifier(const nn::Scope& root, const ClassifierWidths& widths, Task task,
                      bool takes_mean)
      : task_(task),
        takes_mean_(takes_mean),
        drop_(root / "drop", widths.dropout),
        classifier_(root / "classifier", widths.hidden_size, widths.num_labels) {}

  Tensor logits(Tensor& features, const Tensor& attention_mask) override {
    if (task_ == Task::sequence_classification) pool_tokens(features, attention_mask, takes_mean_);
    features = drop_(features);
    return classifier_(features);
  }

 private:
  Task task_;
  bool takes_mean_;
  nn::Dropout drop_;
  nn::Linear classifier_;
};

ModelPointer build_ultrabert(const Config& c, const ModelOptions& options) {
  const UltrabertConfig config(c, options);
  if (!is_classification(options.task))
    return build_checked<UltrabertForMaskedLM>(c, config, options);
  if (!c.check()) return nullptr;
  const ClassifierWidths widths{config.hidden_size, options.num_labels, config.classifier_dropout};
  const auto make_head = [&](const nn::Scope& root, const nn::Scope*, const ModelOptions&,
                             const ClassifierWidths& of) -> std::unique_ptr<ClassifierHead> {
    return std::make_unique<UltrabertClassifier>(root, of, options.task, config.takes_mean);
  };
  return std::make_unique<EncoderForClassification<UltrabertModel>>(
      options, widths, make_head, MadeFirst::body, "model", config);
}

}  // namespace

extern const FamilyFacts kUltrabert{
    .model_type = "ultrabert",
    .task = Task::masked_lm,
    .first = {5, 20, 0},
    .ties_head = Known::no,
    .has_bos = Known::yes,
    .modeling = kEncoder,
    .classifiers = {.sequences = true, .tokens = true, .classifier_dropout = 0.0},
    .build = build_ultrabert};

}  // namespace memtape::family
