// SPDX-License-Identifier: Apache-2.0
#include "framework/megatron/bert_model.h"

#include "ghost/ops/creation.h"
#include "ghost/ops/matmul.h"
#include "ghost/ops/normalization.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"

namespace memtape::megatron {

using ghost::empty;

Tensor BertModel::Dense::operator()(const Tensor& x) const {
  return ghost::linear(x, weight, bias);
}

BertModel::Dense BertModel::dense(std::string_view name, std::int64_t out) {
  const nn::Scope scope = at(name);
  return {scope.parameter("weight", {out, rank_.a.hidden_size}), scope.parameter("bias", {out})};
}

BertModel::BertModel(Rank& rank, const ChunkPlace& place) : StageModel(rank, place) {
  const Arguments& a = rank.a;
  if (place.first) embedding_.emplace(at("embedding"), rank, a.bert_binary_head ? 2 : 0);
  encoder_.emplace(at("encoder"), rank,
                   TransformerBlock::Shape{.first_layer = place.first_layer,
                                           .layers = place.layers,
                                           .final_norm = place.final_norm});
  if (!place.last) return;
  head_ = dense("lm_head_dense", a.hidden_size);
  const nn::Scope norm = at("lm_head_layer_norm");
  head_norm_weight_ = norm.parameter("weight", {a.hidden_size});
  head_norm_bias_ = norm.parameter("bias", {a.hidden_size});
  const nn::Scope output = at("output_layer");
  const std::int64_t vocabulary = a.padded_vocab_size / a.tp;
  output_weight_ = a.tied() && place.first
                       ? embedding_->word_weight()
                       : output.parameter("weight", {vocabulary, a.hidden_size});
  output_bias_ = output.parameter("bias", {vocabulary});
  if (!a.bert_binary_head) return;
  binary_head_ = dense("binary_head", 2);
  pooler_ = dense("pooler_dense", a.hidden_size);
}

/// The words' loss, averaged over those masked, and that of the sentences' order.
Tensor BertModel::loss(const Tensor& hidden_states, const Tensor& labels, const Tensor& loss_mask) {
  const Arguments& a = rank_.a;
  Tensor pooled;
  if (a.bert_binary_head) {
    const Tensor rows = a.sequence_parallel ? gather_rows(hidden_states, a.tp) : hidden_states;
    pooled = ghost::tanh(pooler_(rows.select(0, 0)));
  }
  Tensor headed = ghost::gelu(head_(hidden_states));
  headed = ghost::layer_norm(headed, head_norm_weight_, head_norm_bias_);
  const Tensor logits = output_layer(rank_, headed, output_weight_, output_bias_);
  Tensor order;
  if (a.bert_binary_head) order = binary_head_(pooled);
  const Tensor losses = language_model_loss(a, logits, labels);
  const Tensor words = masked_sum(losses, loss_mask).div(ghost::sum_all(loss_mask));
  if (!order.defined()) return words;
  const Tensor log_probs = ghost::log_softmax(order.to_float(), DType::float32);
  return words.add(ghost::sum_all(log_probs));
}

Tensor BertModel::forward_step(const Tensor& from_before) {
  const Arguments& a = rank_.a;
  if (from_before.defined()) input_tensor_ = from_before;
  const std::int64_t batch = a.micro_batch_size, length = a.seq_length;
  Tensor flat, loss_mask, padding;
  {
    const ghost::Op op("get_batch", {});
    flat = empty({(5 * length + 1) * batch}, DType::int64, Category::input);
    loss_mask = empty({batch, length}, DType::float32, Category::input);
    if (a.transformer_engine) {
      padding = empty({batch, 1, 1, length}, DType::boolean, Category::input);
    } else {
      const Tensor product = empty({batch, 1, length, length}, DType::int64);
      padding = empty(product.sizes(), DType::boolean, Category::input);
    }
  }
  const Tensor tokens = flat.slice(0, 0, batch * length).view({batch, length});
  Tensor hidden_states = place_.first ? (*embedding_)(tokens, tokens) : from_before;
  const LayerInputs inputs{.mask = {padding, true}};
  hidden_states = (*encoder_)(std::move(hidden_states), inputs);
  return place_.last ? loss(hidden_states, tokens, loss_mask) : hidden_states;
}

}  // namespace memtape::megatron
