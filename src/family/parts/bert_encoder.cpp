// SPDX-License-Identifier: Apache-2.0
#include "family/parts/bert_encoder.h"

#include "family/masks/padding_check.h"
#include "family/parts/activations.h"
#include "family/parts/config_checks.h"
#include "ghost/autocast.h"
#include "ghost/autograd/node.h"
#include "ghost/ops/attention.h"
#include "ghost/ops/comparisons.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/dropout.h"
#include "ghost/ops/matmul.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "ghost/session.h"
#include "nn/layer_frame.h"
#include "release/encoder_changes.h"
#include "release/transformers_4_changes.h"

namespace memtape::family {

BertConfig::BertConfig(const Config& c, const ModelOptions& options, const BertDefaults& defaults)
    : vocab_size(c.dimension("vocab_size", defaults.vocab_size)),
      hidden_size(c.dimension("hidden_size", defaults.hidden_size)),
      num_hidden_layers(c.layers("num_hidden_layers", defaults.num_hidden_layers)),
      num_attention_heads(c.dimension("num_attention_heads", defaults.num_attention_heads)),
      intermediate_size(c.dimension("intermediate_size", defaults.intermediate_size)),
      max_position_embeddings(c.dimension("max_position_embeddings", 512)),
      type_vocab_size(defaults.type_vocab_size > 0
                          ? c.dimension("type_vocab_size", defaults.type_vocab_size)
                          : c.count("type_vocab_size", 0)),
      hidden_act(activation(c, "hidden_act", defaults.hidden_act)),
      hidden_dropout_prob(c.number("hidden_dropout_prob", defaults.dropout)),
      attention_probs_dropout_prob(c.number("attention_probs_dropout_prob", defaults.dropout)),
      tie_word_embeddings(c.boolean("tie_word_embeddings", true)),
      attention(options.attention) {
  check_divides(c, "num_attention_heads", num_attention_heads, hidden_size);
  if (c.boolean("is_decoder", false)) c.fail("is_decoder", "only BERT as an encoder is modelled");
  if (c.count("chunk_size_feed_forward", 0) > 0)
    c.fail("chunk_size_feed_forward", "is not modelled");
}

BertSelfAttention::BertSelfAttention(const nn::Scope& scope, const BertConfig& c)
    : Module(scope),
      call_{.implementation = c.attention,
            .dropout = c.attention_probs_dropout_prob,
            .is_causal = false,
            .eager_softmax = EagerSoftmax::plain},
      attention_head_size_(c.hidden_size / c.num_attention_heads),
      query_(scope / "query", c.hidden_size, c.hidden_size),
      key_(scope / "key", c.hidden_size, c.hidden_size),
      value_(scope / "value", c.hidden_size, c.hidden_size) {}

Tensor BertSelfAttention::forward(const Tensor& hidden_states, const Tensor& attention_mask) {
  const Dims input_shape = hidden_states.sizes().leading();
  const Dims hidden_shape = input_shape.with(-1).with(attention_head_size_);
  // Before kEncodersReturnWeights, eager attention takes its query apart last, and so backward
  // gathers its gradient first.
  const bool takes_query_last = call_.implementation == AttentionImplementation::eager &&
                                !ghost::has(changes::kEncodersReturnWeights);
  Tensor query_layer = query_(hidden_states);
  if (!takes_query_last) query_layer = query_layer.view(hidden_shape).transpose(1, 2);
  const Tensor key_layer = key_(hidden_states).view(hidden_shape).transpose(1, 2);
  const Tensor value_layer = value_(hidden_states).view(hidden_shape).transpose(1, 2);
  if (takes_query_last) query_layer = query_layer.view(hidden_shape).transpose(1, 2);
  if (call_.implementation == AttentionImplementation::sdpa &&
      !ghost::has(changes::kEncoderMasksAreShared)) {  // BertSdpaSelfAttention
    const double dropout = ghost::session().training ? call_.dropout : 0.0;
    return ghost::scaled_dot_product_attention(query_layer, key_layer, value_layer, attention_mask,
                                               {.dropout = dropout})
        .transpose(1, 2)
        .reshape(input_shape.with(-1));
  }
  if (call_.implementation == AttentionImplementation::eager &&
      !ghost::has(changes::kEncodersCallTheInterface))
    return written_out(query_layer, key_layer, value_layer, attention_mask);
  const Tensor attn_output =
      attention_interface(call_, query_layer, key_layer, value_layer, attention_mask);
  return attn_output.reshape(input_shape.with(-1)).contiguous();
}

Tensor BertSelfAttention::written_out(const Tensor& query_layer, const Tensor& key_layer,
                                      const Tensor& value_layer,
                                      const Tensor& attention_mask) const {
  Tensor attention_scores = query_layer.matmul(key_layer.transpose(-1, -2));
  attention_scores = attention_scores.div(2.0);
  if (attention_mask.defined()) attention_scores = attention_scores.add(attention_mask);
  Tensor attention_probs =
      ghost::softmax(attention_scores, ghost::reduction_dtype(attention_scores));
  attention_probs = ghost::dropout(attention_probs, call_.dropout);
  const Tensor context_layer =
      attention_probs.matmul(value_layer).permute({0, 2, 1, 3}).contiguous();
  if (ghost::has(changes::kEncodersReturnWeights))
    nn::LayerFrame::keep_attention_weights(attention_probs);
  const Dims& s = context_layer.sizes();
  return context_layer.view({s[0], s[1], s[2] * s[3]});
}

BertOutput::BertOutput(const nn::Scope& scope, std::int64_t in_features, const BertConfig& c)
    : Module(scope),
      dense_(scope / "dense", in_features, c.hidden_size),
      layer_norm_(scope / "LayerNorm", c.hidden_size),
      dropout_(scope / "dropout", c.hidden_dropout_prob) {}

Tensor BertOutput::forward(const Tensor& x, const Tensor& input_tensor) {
  Tensor hidden_states = dense_(x);
  hidden_states = dropout_(hidden_states);
  hidden_states = layer_norm_(hidden_states.add(input_tensor));
  return hidden_states;
}

BertAttention::BertAttention(const nn::Scope& scope, const BertConfig& c)
    : Module(scope), self_(scope / "self", c), output_(scope / "output", c.hidden_size, c) {}

Tensor BertAttention::forward(const Tensor& hidden_states, const Tensor& attention_mask) {
  Tensor attention_output = self_(hidden_states, attention_mask);
  attention_output = output_(attention_output, hidden_states);
  return attention_output;
}

BertIntermediate::BertIntermediate(const nn::Scope& scope, const BertConfig& c)
    : Module(scope),
      dense_(scope / "dense", c.hidden_size, c.intermediate_size),
      intermediate_act_fn_(c.hidden_act) {}

Tensor BertIntermediate::forward(const Tensor& x) {
  Tensor hidden_states = dense_(x);
  hidden_states = intermediate_act_fn_(hidden_states);
  return hidden_states;
}

BertLayer::BertLayer(const nn::Scope& scope, const BertConfig& c)
    : GradientCheckpointingLayer(scope),
      attention_(scope / "attention", c),
      intermediate_(scope / "intermediate", c),
      output_(scope / "output", c.intermediate_size, c) {}

Tensor BertLayer::forward(const Tensor& hidden_states, const Tensor& attention_mask,
                          const Tensor& /*cache_position*/) {
  const Tensor attention_output = attention_(hidden_states, attention_mask);
  if (weights_taker_ && ghost::has(changes::kEncodersReturnWeights) &&
      !ghost::has(changes::kEncodersCallTheInterface))
    *weights_taker_ = nn::LayerFrame::kept_attention_weights();
  const Tensor intermediate_output = intermediate_(attention_output);
  return output_(intermediate_output, attention_output);
}

BertEmbeddings::BertEmbeddings(const nn::Scope& scope, const BertConfig& c)
    : BertEmbeddings(scope, c, c.hidden_size) {}

BertEmbeddings::BertEmbeddings(const nn::Scope& scope, const BertConfig& c, std::int64_t width)
    : Module(scope),
      word_embeddings(scope / "word_embeddings", c.vocab_size, width),
      position_embeddings_(scope / "position_embeddings", c.max_position_embeddings, width),
      token_type_embeddings_(scope / "token_type_embeddings", c.type_vocab_size, width),
      layer_norm_(scope / "LayerNorm", width),
      dropout_(scope / "dropout", c.hidden_dropout_prob),
      position_ids_(scope, c.max_position_embeddings) {
  const ghost::ScopeGuard guard(node().scope);
  token_type_ids_ = ghost::zeros(position_ids_.tensor().sizes(), DType::int64);
  scope.buffer("token_type_ids", token_type_ids_);
}

Tensor BertEmbeddings::forward(const Tensor& input_ids) {
  const std::int64_t batch_size = input_ids.size(0), seq_length = input_ids.size(1);
  const Tensor position_ids = position_ids_.first(seq_length);
  const Tensor buffered_token_type_ids = gather_token_types(token_type_ids_, position_ids);
  const Tensor token_type_ids = buffered_token_type_ids.expand({batch_size, seq_length});
  const Tensor inputs_embeds = word_embeddings(input_ids);
  const Tensor token_type_embeddings = token_type_embeddings_(token_type_ids);
  Tensor embeddings = inputs_embeds.add(token_type_embeddings);
  const Tensor position_embeddings = position_embeddings_(position_ids);
  add_positions(embeddings, position_embeddings);
  embeddings = layer_norm_(embeddings);
  embeddings = dropout_(embeddings);
  return embeddings;
}

void add_positions(Tensor& embeddings, const Tensor& position_embeddings) {
  if (ghost::has(changes::kEncodersAddPositionsOutOfPlace))
    embeddings = embeddings.add(position_embeddings);
  else
    ghost::add_(embeddings, position_embeddings);
}

Tensor gather_token_types(const Tensor& token_type_ids, const Tensor& position_ids) {
  if (!ghost::has(changes::kEncoderMasksAreShared))
    return token_type_ids.slice(1, 0, position_ids.size(1));
  const ghost::Op op("gather", {});
  return ghost::empty(position_ids.sizes(), token_type_ids.dtype());
}

/// get_extended_attention_mask of transformers 4: (1.0 - mask) * min in the model's dtype; nothing
/// for sdpa where no token is hidden.
EncoderMask encoder_mask(AttentionImplementation attention, const Tensor& given_mask,
                         const Tensor& embedding_output) {
  if (ghost::has(changes::kEncoderMasksAreShared))
    return {.given = {},
            .extended = create_bidirectional_mask(
                {.attention = attention, .attention_mask = given_mask}, embedding_output)};
  return extended_mask(attention, given_mask,
                       ghost::Dims{embedding_output.size(0), embedding_output.size(1)},
                       embedding_output.dtype());
}

EncoderMask extended_mask(AttentionImplementation attention, const Tensor& given_mask,
                          const ghost::Dims& sizes, DType dtype) {
  EncoderMask mask{.given = given_mask.defined() ? given_mask : ghost::ones(sizes, DType::float32),
                   .extended = {}};
  if (attention == AttentionImplementation::sdpa) {
    const Tensor none_hidden = ghost::all(ghost::eq(mask.given, 1));
    return mask;
  }
  const Tensor in_dtype = mask.given.unsqueeze(1).unsqueeze(1).to(dtype);
  const Tensor hidden = ghost::rsub(1.0, in_dtype);
  mask.extended = hidden.mul(ghost::kLowest);
  return mask;
}

Tensor cache_positions_of(const Tensor& input_ids) {
  const bool counts =
      ghost::has(changes::kEncoderMasksAreShared) && !ghost::has(changes::kCachePositionsAreGone);
  return counts ? ghost::arange(input_ids.size(1), DType::int64) : Tensor();
}

void look_for_padding_before_5(const Tensor& input_ids) {
  if (!ghost::has(changes::kEncoderMasksAreShared)) look_for_padding(input_ids);
}

}  // namespace memtape::family
