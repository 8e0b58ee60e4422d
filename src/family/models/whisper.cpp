// SPDX-License-Identifier: Apache-2.0
// Whisper for conditional generation: two convolutions over a spectrogram, an encoder with fixed
// positions, and a decoder that writes text; mirroring transformers 5.17
// models/whisper/modeling_whisper.py.
#include <string>

#include "family/facts.h"
#include "family/losses/loss.h"
#include "family/masks/masking.h"
#include "family/parts/bart_layers.h"
#include "family/parts/shift_tokens.h"
#include "ghost/ops/copies.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/cudnn_convolution.h"
#include "ghost/ops/dropout.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/unary.h"
#include "nn/convolution.h"
#include "nn/layer_stack.h"

namespace memtape::family {
namespace {

constexpr BartStack kTiny{.layers = 4, .attention_heads = 6, .ffn_dim = 1536};

struct WhisperConfig : BartLayerConfig {
  WhisperConfig(const Config& c, const ModelOptions& options)
      : BartLayerConfig(c, options,
                        {.d_model = 384, .encoder = kTiny, .decoder = kTiny, .dropout = 0.0}),
        vocab_size(c.dimension("vocab_size", 51865)),
        num_mel_bins(c.dimension("num_mel_bins", 80)),
        max_source_positions(c.dimension("max_source_positions", 1500)),
        max_target_positions(c.dimension("max_target_positions", 448)),
        tie_word_embeddings(c.boolean("tie_word_embeddings", true)) {
    norms_first = is_whisper = true;
    if (c.boolean("apply_spec_augment", false)) c.fail("apply_spec_augment", "is not modelled");
  }
  std::int64_t vocab_size, num_mel_bins, max_source_positions, max_target_positions;
  bool tie_word_embeddings;
};

/// The table of fixed positions as _init_weights makes it, in the model's dtype.
void make_sinusoids(const Tensor& table) {
  const DType dtype = table.dtype();
  const std::int64_t half = table.size(1) / 2;
  Tensor inv_timescales;
  {
    Tensor exponents = ghost::arange(half, DType::int64).to(dtype);
    inv_timescales = ghost::exp(std::move(exponents));
  }
  Tensor positions = ghost::arange(table.size(0), DType::int64).view({-1, 1});
  const Tensor scaled_time = std::move(positions).mul(inv_timescales.view({1, -1}));
  Tensor sines = ghost::sin(scaled_time);
  Tensor cosines = ghost::cos(scaled_time);
  const Tensor made = ghost::cat({std::move(sines), std::move(cosines)}, 1);
}

class WhisperEncoder : public nn::Module<WhisperEncoder> {
 public:
  WhisperEncoder(const nn::Scope& scope, const WhisperConfig& c)
      : Module(scope),
        dropout_(c.dropout),
        conv1_(scope / "conv1", Dims{c.d_model, c.num_mel_bins, kKernel}, true),
        conv2_(scope / "conv2", Dims{c.d_model, c.d_model, kKernel}, true),
        embed_positions_(scope / "embed_positions", c.max_source_positions, c.d_model),
        layers_(scope / "layers", c.encoder.layers, static_cast<const BartLayerConfig&>(c)),
        layer_norm_(scope / "layer_norm", c.d_model) {
    embed_positions_.weight.impl().requires_grad = false;
    make_sinusoids(embed_positions_.weight);
  }

  Tensor forward(const Tensor& input_features) {
    Tensor inputs_embeds = ghost::gelu(convolve(input_features, conv1_, 1));
    inputs_embeds = ghost::gelu(convolve(inputs_embeds, conv2_, 2));
    inputs_embeds = inputs_embeds.permute({0, 2, 1});
    const Tensor all_positions = ghost::arange(embed_positions_.weight.size(0), DType::int64);
    Tensor hidden_states = inputs_embeds.add(embed_positions_(all_positions));
    hidden_states = ghost::dropout(hidden_states, dropout_);
    hidden_states = nn::run_layers(
        layers_, std::move(hidden_states), 1,
        [&](BartEncoderLayer& layer, std::size_t, const Tensor& x) { return layer(x, Tensor()); });
    hidden_states = layer_norm_(hidden_states);
    return hidden_states;
  }

 private:
  static constexpr std::int64_t kKernel = 3, kPadding = 1;

  static Tensor convolve(const Tensor& x, const nn::Convolution& conv, std::int64_t stride) {
    const ghost::ScopeGuard guard(conv.node().scope);
    return ghost::cudnn_convolution(x, conv.weight, conv.bias, stride, kPadding);
  }

  double dropout_;
  nn::Convolution conv1_, conv2_;
  nn::Embedding embed_positions_;
  nn::ModuleList<BartEncoderLayer> layers_;
  nn::LayerNorm layer_norm_;
};

class WhisperDecoder : public nn::Module<WhisperDecoder> {
 public:
  WhisperDecoder(const nn::Scope& scope, const WhisperConfig& c)
      : Module(scope),
        embed_tokens(scope / "embed_tokens", c.vocab_size, c.d_model),
        attention_(c.attention),
        dropout_(c.dropout),
        embed_positions_(scope / "embed_positions", c.max_target_positions, c.d_model),
        layers_(scope / "layers", c.decoder.layers, static_cast<const BartLayerConfig&>(c)),
        layer_norm_(scope / "layer_norm", c.d_model) {}

  Tensor forward(const Tensor& input_ids, const Tensor& encoder_hidden_states) {
    const Tensor inputs_embeds = embed_tokens(input_ids);
    Tensor position_ids = ghost::arange(inputs_embeds.size(1), DType::int64).add(0);
    position_ids = ghost::repeat_rows(position_ids.unsqueeze(0), inputs_embeds.size(0));
    const Tensor positions = ghost::index(embed_positions_.weight, position_ids);
    Tensor hidden_states = inputs_embeds.add(positions);
    hidden_states = ghost::dropout(hidden_states, dropout_);
    const Tensor causal_mask = create_causal_mask({.attention = attention_, .attention_mask = {}},
                                                  inputs_embeds, position_ids);
    for (BartDecoderLayer& decoder_layer : layers_)
      hidden_states = decoder_layer(hidden_states, causal_mask, encoder_hidden_states, Tensor());
    hidden_states = layer_norm_(hidden_states);
    return hidden_states;
  }

  nn::Embedding embed_tokens;

 private:
  AttentionImplementation attention_;
  double dropout_;
  nn::Embedding embed_positions_;
  nn::ModuleList<BartDecoderLayer> layers_;
  nn::LayerNorm layer_norm_;
};

class WhisperForConditionalGeneration : public PretrainedModel {
 public:
  WhisperForConditionalGeneration(const WhisperConfig& c, const ModelOptions& options)
      : PretrainedModel(options),
        config_(c),
        model_(root() / "model"),
        encoder_(model_ / "encoder", c),
        decoder_(model_ / "decoder", c),
        proj_out_(root() / "proj_out", c.d_model, c.vocab_size, false) {
    if (c.tie_word_embeddings) nn::tie(proj_out_, decoder_.embed_tokens.weight);
  }

  std::string_view output_embeddings() const override { return "proj_out"; }

  /// A spectrogram as long as the encoder expects (both convolutions' strides: 1 and 2), and a
  /// text.
  SampleSizes sample_sizes(std::int64_t sequence_length) const override {
    return {.pixel_values = {},
            .input_features = Dims{config_.num_mel_bins, 2 * config_.max_source_positions},
            .input_ids = {},
            .labels = Dims{sequence_length}};
  }

  ModelOutput forward(const Batch& batch) override {
    const std::int64_t longest = config_.max_target_positions;
    if (batch.labels.size(1) > longest)
      ghost::session().fail({ErrorKind::bad_input,
                             "Whisper's texts are at most max_target_positions long",
                             "--sequence-length", "give " + std::to_string(longest) + " or less"});
    const Tensor decoder_input_ids = shift_tokens_right(batch.labels);
    const Tensor encoder_output = encoder_(batch.input_features);
    const Tensor last_hidden_state = decoder_(decoder_input_ids, encoder_output);
    Tensor lm_logits = proj_out_(last_hidden_state);
    Tensor loss = masked_lm_loss(lm_logits, batch, config_.vocab_size);
    return {std::move(loss), std::move(lm_logits), encoder_output};
  }

 private:
  WhisperConfig config_;
  nn::Scope model_;
  WhisperEncoder encoder_;
  WhisperDecoder decoder_;
  nn::Linear proj_out_;
};

ModelPointer build_whisper(const Config& c, const ModelOptions& options) {
  return build_checked<WhisperForConditionalGeneration>(c, WhisperConfig(c, options), options);
}

}  // namespace

extern const FamilyFacts kWhisper{.model_type = "whisper",
                                  .task = Task::speech_seq2seq,
                                  .ties_head = Known::yes,
                                  .has_bos = Known::yes,
                                  .modeling = caching_in_training(kEncoder),
                                  .build = build_whisper};

}  // namespace memtape::family
