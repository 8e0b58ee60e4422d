// SPDX-License-Identifier: Apache-2.0
// T5, MT5 and UMT5 for conditional generation: an encoder and a decoder over one embedding table,
// the decoder attending to both itself and the encoder's output, labels shifted right as its input;
// mirroring transformers 5.17 models/t5/modeling_t5.py and models/umt5/modeling_umt5.py.
#include <optional>
#include <utility>

#include "family/facts.h"
#include "family/masks/masking.h"
#include "family/masks/update_causal_mask.h"
#include "family/parts/shift_tokens.h"
#include "family/parts/t5_block.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/loss.h"
#include "ghost/ops/pointwise.h"
#include "release/encoder_changes.h"
#include "release/head_changes.h"
#include "release/transformers_4_changes.h"

namespace memtape::family {
namespace {

class T5Stack : public nn::Module<T5Stack> {
 public:
  T5Stack(const nn::Scope& scope, const T5Config& c, nn::Embedding& shared, bool is_decoder)
      : Module(scope),
        tree_(scope.tree()),
        own_embedding_(made_embedding(scope, c)),
        embed_tokens_(own_embedding_ ? *own_embedding_ : shared),
        attention_(c.attention),
        is_decoder_(is_decoder),
        is_umt5_(!c.shares_position_bias),
        block_(scope / "block", is_decoder ? c.num_decoder_layers : c.num_layers, c, is_decoder),
        final_layer_norm_(scope / "final_layer_norm", c.d_model),
        dropout_(scope / "dropout", c.dropout_rate) {}

  Tensor forward(const Tensor& input_ids, const Tensor& given_mask,
                 const Tensor& encoder_hidden_states, const Tensor& encoder_attention_mask) {
    const Tensor inputs_embeds = embed_tokens_(input_ids);
    Tensor cache_position;
    if (counts_positions()) cache_position = ghost::arange(inputs_embeds.size(1), DType::int64);
    const T5Masks masks = make_masks(given_mask, encoder_hidden_states, encoder_attention_mask,
                                     inputs_embeds, cache_position);
    T5BlockInputs in{.attention_mask = masks.own,
                     .position_bias = {},
                     .encoder_hidden_states = encoder_hidden_states,
                     .encoder_attention_mask = masks.of_encoder,
                     .encoder_decoder_position_bias = {},
                     .cache_position = cache_position};
    Tensor hidden_states = dropout_(inputs_embeds);
    T5BlockOutput out;
    for (T5Block& layer_module : block_) {
      out = layer_module(hidden_states, in);
      if (forgets_outputs()) continue;
      hidden_states = std::move(out.hidden_states);
      // The position biases are shared between the layers: the first makes them.
      in.position_bias = std::move(out.self_attn_position_bias);
      in.encoder_decoder_position_bias = std::move(out.cross_attn_position_bias);
    }
    hidden_states = final_layer_norm_(hidden_states);
    hidden_states = dropout_(hidden_states);
    return hidden_states;
  }

  void tie(const Tensor& table) {
    if (own_embedding_) nn::tie(*own_embedding_, table);
  }

 private:
  /// A table to be replaced by the shared one; before kT5StacksMakeTables, the shared one itself
  /// was the stack's.
  static std::optional<nn::Embedding> made_embedding(const nn::Scope& scope, const T5Config& c) {
    if (!ghost::has(changes::kT5StacksMakeTables)) return std::nullopt;
    return std::optional<nn::Embedding>(std::in_place, scope / "embed_tokens", c.vocab_size,
                                        c.d_model);
  }

  /// Whether each layer is given what the first one is, and no loss depends on any.
  bool forgets_outputs() const {
    return is_umt5_ && !ghost::has(changes::kUmt5TakesCheckpointedOutputs) &&
           tree_.gradient_checkpointing != nn::GradientCheckpointing::off;
  }

  static bool counts_positions() {
    return ghost::has(changes::kT5StacksCountPositions) &&
           !ghost::has(changes::kT5CountsNoPositions);
  }

  /// The masks of a stack, and the ones they were made of, which live as long.
  struct T5Masks {
    Tensor own, of_encoder, given, encoder_given;
  };

  T5Masks make_masks(const Tensor& given_mask, const Tensor& encoder_hidden_states,
                     const Tensor& encoder_attention_mask, const Tensor& inputs_embeds,
                     const Tensor& cache_position) const {
    const Change& shared_since =
        is_umt5_ ? changes::kUmt5MasksAreShared : changes::kT5MasksAreShared;
    if (!ghost::has(shared_since))
      return masks_of_ones(given_mask, encoder_hidden_states, encoder_attention_mask, inputs_embeds,
                           cache_position);
    T5Masks masks;
    const MaskRequest request{.attention = attention_, .attention_mask = given_mask};
    masks.own = is_decoder_ ? create_causal_mask(request, inputs_embeds, {})
                            : create_bidirectional_mask(request, inputs_embeds);
    if (is_decoder_)
      masks.of_encoder = create_bidirectional_mask(
          {.attention = attention_, .attention_mask = encoder_attention_mask}, inputs_embeds,
          encoder_hidden_states);
    return masks;
  }

  T5Masks masks_of_ones(const Tensor& given_mask, const Tensor& encoder_hidden_states,
                        const Tensor& encoder_attention_mask, const Tensor& inputs_embeds,
                        const Tensor& cache_position) const {
    T5Masks masks;
    masks.given = made(given_mask, inputs_embeds, DType::float32);
    if (!is_decoder_) {
      masks.own = inverted_of_keys(masks.given, inputs_embeds.dtype());
      return masks;
    }
    if (!ghost::has(changes::kT5StacksCountPositions))
      return early_masks(std::move(masks), encoder_hidden_states, encoder_attention_mask,
                         inputs_embeds.dtype());
    masks.own = create_causal_mask(
        {.attention = AttentionImplementation::eager,
         .attention_mask = masks.given,
         .shared_since = changes::kT5MasksAreShared},
        inputs_embeds, cache_position.defined() ? cache_position.unsqueeze(0) : Tensor());
    if (is_umt5_ && ghost::has(changes::kUmt5CrossMasksAreShared)) {
      if (encoder_attention_mask.defined())
        masks.of_encoder = create_bidirectional_mask(
            {.attention = attention_, .attention_mask = encoder_attention_mask}, inputs_embeds,
            encoder_hidden_states);
      return masks;
    }
    masks.encoder_given = made(encoder_attention_mask, encoder_hidden_states,
                               is_umt5_ ? DType::float32 : DType::int64);
    masks.of_encoder = inverted_of_keys(masks.encoder_given, inputs_embeds.dtype());
    return masks;
  }

  static Tensor made(const Tensor& given, const Tensor& like, DType dtype) {
    return given.defined() ? given : ghost::ones({like.size(0), like.size(1)}, dtype);
  }

  /// Those of a decoder that counts no positions. UMT5 makes the ones for the encoder's first.
  T5Masks early_masks(T5Masks masks, const Tensor& encoder_hidden_states,
                      const Tensor& encoder_attention_mask, DType dtype) const {
    const auto of_ones = [&] {
      return made(encoder_attention_mask, encoder_hidden_states, DType::int64);
    };
    if (is_umt5_) masks.encoder_given = of_ones();
    masks.own = inverted(causal_of_rows(masks.given), dtype);
    if (!is_umt5_) masks.encoder_given = of_ones();
    masks.of_encoder = inverted_of_keys(masks.encoder_given, dtype);
    return masks;
  }

  /// create_extended_attention_mask_for_decoder: a causal mask of every row.
  static Tensor causal_of_rows(const Tensor& attention_mask) {
    const std::int64_t rows = attention_mask.size(0), length = attention_mask.size(1);
    Tensor causal_mask;
    const Tensor seq_ids = ghost::arange(length, DType::int64);
    causal_mask = ghost::le(
        seq_ids.unsqueeze(0).unsqueeze(0).expand({rows, length, length}).contiguous(),  // repeat
        seq_ids.unsqueeze(0).unsqueeze(-1));
    causal_mask = causal_mask.to(attention_mask.dtype());
    return causal_mask.unsqueeze(1).mul(attention_mask.unsqueeze(1).unsqueeze(1));
  }

  /// (1.0 - mask) * torch.finfo(dtype).min
  static Tensor inverted(const In& mask, DType dtype) {
    const Tensor extended = mask->to(dtype);
    mask.release();
    const Tensor hidden = ghost::rsub(1.0, extended);
    return hidden.mul(ghost::kLowest);
  }

  static Tensor inverted_of_keys(const Tensor& mask, DType dtype) {
    return inverted(mask.unsqueeze(1).unsqueeze(1), dtype);
  }

  const nn::ModuleTree& tree_;
  std::optional<nn::Embedding> own_embedding_;
  nn::Embedding& embed_tokens_;
  AttentionImplementation attention_;
  bool is_decoder_, is_umt5_;
  nn::ModuleList<T5Block> block_;
  T5LayerNorm final_layer_norm_;
  nn::Dropout dropout_;
};

class T5ForConditionalGeneration : public PretrainedModel {
 public:
  T5ForConditionalGeneration(const T5Config& c, const ModelOptions& options)
      : PretrainedModel(options),
        scale_decoder_outputs_(c.scale_decoder_outputs),
        shared_(root() / "shared", c.vocab_size, c.d_model),
        encoder_(root() / "encoder", c, shared_, false),
        decoder_(root() / "decoder", c, shared_, true),
        lm_head_(root() / "lm_head", c.d_model, c.vocab_size, false) {
    if (c.ties_head) nn::tie(lm_head_, shared_.weight);
    encoder_.tie(shared_.weight);
    decoder_.tie(shared_.weight);
  }

  ModelOutput forward(const Batch& batch) override {
    const Tensor hidden_states =
        encoder_(batch.input_ids, batch.attention_mask, Tensor(), Tensor());
    const Tensor decoder_input_ids = shift_tokens_right(batch.labels);
    const Tensor decoder_output =
        decoder_(decoder_input_ids, Tensor(), hidden_states, batch.attention_mask);
    Tensor sequence_output = decoder_output;
    if (scale_decoder_outputs_) sequence_output = sequence_output.mul(0.5);
    Tensor lm_logits = lm_head_(sequence_output);
    Tensor loss =
        ghost::cross_entropy(lm_logits.view({-1, lm_logits.size(-1)}), batch.labels.view({-1}));
    return {std::move(loss), std::move(lm_logits), hidden_states};
  }

 private:
  bool scale_decoder_outputs_;
  nn::Embedding shared_;
  T5Stack encoder_, decoder_;
  nn::Linear lm_head_;
};

ModelPointer build_t5(const Config& c, const ModelOptions& options) {
  return build_checked<T5ForConditionalGeneration>(c, T5Config(c, options), options);
}

}  // namespace

extern const FamilyFacts kT5{.model_type = "t5",
                             .task = Task::seq2seq_lm,
                             .ties_head = Known::yes,
                             .has_bos = Known::no,
                             .modeling = caching_in_training(kEncoder),
                             .build = build_t5};

extern const FamilyFacts kMt5{.model_type = "mt5",
                              .task = Task::seq2seq_lm,
                              .ties_head = Known::yes,
                              .has_bos = Known::no,
                              .modeling = caching_in_training(kEncoder),
                              .build = build_t5};

extern const FamilyFacts kUmt5{.model_type = "umt5",
                               .task = Task::seq2seq_lm,
                               .ties_head = Known::yes,
                               .has_bos = Known::no,
                               .modeling = caching_in_training(kEncoder),
                               .build = build_t5};

}  // namespace memtape::family
