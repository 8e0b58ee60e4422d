// SPDX-License-Identifier: Apache-2.0
#include "framework/megatron/gpt_model.h"

#include "ghost/ops/creation.h"

namespace memtape::megatron {

using ghost::empty;

GptModel::GptModel(Rank& rank, const ChunkPlace& place) : StageModel(rank, place) {
  const Arguments& a = rank.a;
  if (place.first || place.mtp) embedding_.emplace(at("embedding"), rank, 0);
  if (a.position_embedding == PositionEmbedding::rope && !a.mla.on) {
    const auto rotated =
        static_cast<std::int64_t>(static_cast<double>(a.kv_channels) * a.rotary_percent);
    inverse_frequencies_ = empty({rotated / 2}, DType::float32, Category::buffer);
  }
  if (a.hybrid_layers.empty())
    decoder_.emplace(at("decoder"), rank,
                     TransformerBlock::Shape{.first_layer = place.first_layer,
                                             .layers = place.layers,
                                             .final_norm = place.final_norm});
  else
    stack_.emplace(at("decoder"), rank,
                   std::string_view(a.hybrid_layers)
                       .substr(static_cast<std::size_t>(place.first_layer),
                               static_cast<std::size_t>(place.layers)),
                   place.last);
  if (place.mtp) mtp_.emplace(at("mtp"), rank, !a.moe.layers.empty() && a.moe.layers.back());
  if (!place.last) return;
  output_weight_ =
      a.tied() && (place.first || place.mtp)
          ? embedding_->word_weight()
          : at("output_layer").parameter("weight", {a.padded_vocab_size / a.tp, a.hidden_size});
}

MicroBatch GptModel::batch() const {
  const Arguments& a = rank_.a;
  const ghost::Op op("get_batch", {});
  const Dims tokens{a.micro_batch_size, a.seq_length / a.cp};
  MicroBatch batch;
  if (!place_.first && !place_.last && !place_.mtp) return batch;
  if (!a.pretrain_loop) {  // tokens, which are their own labels
    batch.tokens = batch.labels = empty(tokens, DType::int64, Category::input);
    if ((place_.first || place_.mtp) && a.position_embedding == PositionEmbedding::learned_absolute)
      batch.position_ids = empty(tokens, DType::int64, Category::input);
    return batch;
  }
  const bool all = rank_.tp_rank == 0;  // the others get by broadcast what they need
  const bool first = all || place_.first || place_.mtp, last = all || place_.last || place_.mtp;
  if (first) batch.tokens = empty(tokens, DType::int64, Category::input);
  if (last) {
    batch.labels = empty(tokens, DType::int64, Category::input);
    batch.loss_mask = empty(tokens, DType::float32, Category::input);
  }
  if (a.creates_attention_mask)
    batch.attention_mask =
        empty({a.micro_batch_size, 1, tokens[1], a.seq_length}, DType::boolean, Category::input);
  if (first) batch.position_ids = empty(tokens, DType::int64, Category::input);
  return batch;
}

/// RotaryEmbedding.forward: an lru_cache keeps the angles of the last lengths.
Tensor GptModel::rotary_freqs() {
  const Arguments& a = rank_.a;
  if (a.position_embedding != PositionEmbedding::rope && !a.mla.on) return {};
  if (cached_freqs_.defined()) return cached_freqs_;
  const std::int64_t width =
      a.mla.on ? a.mla.qk_pos_emb_head_dim : inverse_frequencies_.size(0) * 2;
  const ghost::Op op("RotaryEmbedding", {});
  cached_freqs_ = empty({a.seq_length / a.cp, 1, 1, width}, DType::float32, Category::buffer);
  return cached_freqs_;
}

Tensor GptModel::forward(const MicroBatch& batch, const Tensor& from_before) {
  if (from_before.defined()) input_tensor_ = from_before;
  Tensor hidden_states =
      place_.first ? (*embedding_)(batch.tokens, batch.position_ids) : from_before;
  const LayerInputs inputs{.mask = {batch.attention_mask}, .rotary_freqs = rotary_freqs()};
  hidden_states = stack_ ? (*stack_)(std::move(hidden_states), inputs)
                         : (*decoder_)(std::move(hidden_states), inputs);
  if (mtp_)
    hidden_states = (*mtp_)(
        hidden_states,
        {.tokens = batch.tokens, .position_ids = batch.position_ids, .layer = inputs}, *embedding_);
  if (!place_.last) return hidden_states;
  if (rank_.a.mtp_num_layers > 0)
    hidden_states = with_mtp_losses(rank_, hidden_states, output_weight_,
                                    {.labels = batch.labels, .loss_mask = batch.loss_mask});
  const Tensor logits = output_layer(rank_, hidden_states, output_weight_, {});
  return language_model_loss(rank_.a, logits, batch.labels);
}

Tensor GptModel::forward_step(const Tensor& from_before) {
  Tensor output, loss_mask;
  {
    const MicroBatch data = batch();
    loss_mask = data.loss_mask;
    output = forward(data, from_before);
  }
  return place_.last ? masked_sum(output, loss_mask) : output;
}

}  // namespace memtape::megatron
