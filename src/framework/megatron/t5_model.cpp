// SPDX-License-Identifier: Apache-2.0
#include "framework/megatron/t5_model.h"

#include "ghost/ops/creation.h"

namespace memtape::megatron {
namespace {

using ghost::empty;

/// config_attention_mask of datasets/t5_dataset.py.
AttentionMask padding_mask(const Arguments& a, std::int64_t queries, std::int64_t keys) {
  const std::int64_t rows = a.transformer_engine ? 1 : queries;
  return {empty({a.micro_batch_size, 1, rows, keys}, DType::boolean, Category::input), true};
}

}  // namespace

T5Model::T5Model(Rank& rank, const ChunkPlace& place)
    : StageModel(rank, place),
      embedding_(at("embedding"), rank, 0),
      encoder_(at("encoder"), rank, {.layers = rank.a.num_layers, .final_norm = true}),
      decoder_(at("decoder"), rank,
               {.layers = rank.a.decoder_layers, .final_norm = true, .crosses = true}) {
  const std::int64_t vocabulary = rank.a.padded_vocab_size / rank.a.tp;
  const nn::Scope output = at("output_layer");
  output_weight_ = rank.a.tied() ? embedding_.word_weight()
                                 : output.parameter("weight", {vocabulary, rank.a.hidden_size});
  if (rank.a.tied()) output_bias_ = output.parameter("bias", {vocabulary});
}

T5Model::Batch T5Model::batch() const {
  const Arguments& a = rank_.a;
  const ghost::Op op("get_batch", {});
  const std::int64_t b = a.micro_batch_size, enc = a.seq_length, dec = a.decoder_seq_length;
  const Tensor flat = empty({b * (2 * enc + 4 * dec)}, DType::int64, Category::input);
  Batch batch{.encoder_tokens = flat.slice(0, 0, b * enc).view({b, enc}),
              .decoder_tokens = flat.slice(0, b * enc, b * (enc + dec)).view({b, dec}),
              .labels = flat.slice(0, b * (enc + dec), b * (enc + 2 * dec)).view({b, dec}),
              .loss_mask = empty({b, dec}, DType::float32, Category::input),
              .encoder_mask = padding_mask(a, enc, enc),
              .decoder_mask = {},
              .cross_mask = padding_mask(a, dec, enc)};
  if (!a.transformer_engine)
    batch.decoder_mask = {empty({b, 1, dec, dec}, DType::boolean, Category::input), false};
  return batch;
}

Tensor T5Model::forward_step(const Tensor&) {
  const Batch data = batch();
  const LayerInputs encoding{.mask = data.encoder_mask};
  const Tensor context = encoder_(embedding_(data.encoder_tokens, data.encoder_tokens), encoding);
  const LayerInputs decoding{
      .mask = data.decoder_mask, .context = context, .context_mask = data.cross_mask};
  const Tensor hidden_states =
      decoder_(embedding_(data.decoder_tokens, data.decoder_tokens), decoding);
  const Tensor logits = output_layer(rank_, hidden_states, output_weight_, output_bias_);
  return masked_sum(language_model_loss(rank_.a, logits, data.labels), data.loss_mask);
}

}  // namespace memtape::megatron
