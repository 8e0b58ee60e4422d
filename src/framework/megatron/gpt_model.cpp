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

/// get_batch_on_this_tp_rank, and in a context parallel group of all ranks' tokens first, of which
/// each tensor's own are picked by index (get_batch_on_this_cp_rank).
void GptModel::load(const std::vector<Part>& parts) const {
  const Arguments& a = rank_.a;
  const auto make = [&](const Part& part, std::int64_t tokens) {
    const Dims sizes = part.keys > 0 ? Dims{a.micro_batch_size, 1, tokens, part.keys}
                                     : Dims{a.micro_batch_size, tokens};
    return empty(sizes, part.dtype, Category::input);
  };
  std::vector<Tensor> whole;
  for (const Part& part : parts)
    whole.push_back(a.cp > 1 && (part.keys == 0 || part.wanted) ? make(part, a.seq_length)
                                                                : Tensor());
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (!parts[i].wanted) whole[i].reset();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!parts[i].wanted) continue;
    const Tensor index = a.cp > 1 ? empty({2}, DType::int64) : Tensor();
    *parts[i].tensor = make(parts[i], a.seq_length / a.cp);
    whole[i].reset();
  }
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
    else
      batch.position_ids = empty({1, a.seq_length / a.cp}, DType::int64, Category::input);
    return batch;
  }
  const bool all = rank_.tp_rank == 0;  // the others get by broadcast what they need
  const bool first = all || place_.first || place_.mtp, last = all || place_.last || place_.mtp;
  std::vector<Part> parts{{&batch.tokens, DType::int64, first},
                          {&batch.labels, DType::int64, last},
                          {&batch.loss_mask, DType::float32, last}};
  const Part mask{&batch.attention_mask, DType::boolean, a.creates_attention_mask, a.seq_length};
  const Part positions{&batch.position_ids, DType::int64, first};
  if (a.cp > 1)
    parts.insert(parts.end(), {positions, mask});
  else
    parts.insert(parts.end(), {mask, positions});
  load(parts);
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
  if (rank_.offload) rank_.offload->begin_chunk(place_.virtual_stage);
  if (from_before.defined()) input_tensor_ = from_before;
  Tensor hidden_states =
      place_.first ? (*embedding_)(batch.tokens, batch.position_ids) : from_before;
  LayerInputs inputs;
  inputs.mask.tensor = batch.attention_mask;
  inputs.rotary_freqs = rotary_freqs();
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
