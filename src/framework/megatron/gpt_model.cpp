// SPDX-License-Identifier: Apache-2.0
#include "framework/megatron/gpt_model.h"

#include <algorithm>

#include "ghost/ops/creation.h"
#include "ghost/ops/dropout.h"
#include "ghost/ops/embedding.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/pointwise.h"

namespace memtape::megatron {
namespace {

using ghost::empty;
using ghost::Gradients;

/// Dims of [s, b, h] on this rank: the sequence is cut by context parallelism, and by tensor
/// parallelism where it is sequence parallel.
std::int64_t local_sequence(const Arguments& a) { return a.seq_length / a.cp; }

bool recomputed_in_full(const Arguments& a) { return a.recompute == Recompute::full; }

}  // namespace

GptModel::GptModel(Rank& rank, const ChunkPlace& place)
    : rank_(rank), place_(place), tree_(rank.a.params_dtype) {
  const Arguments& a = rank.a;
  const std::int64_t vocabulary = a.padded_vocab_size / a.tp;
  if (place.first) {
    word_embeddings_ = at("word_embeddings").parameter("weight", {vocabulary, a.hidden_size});
    if (a.position_embedding == PositionEmbedding::learned_absolute)
      position_embeddings_ =
          at("position_embeddings").parameter("weight", {a.max_position_embeddings, a.hidden_size});
  }
  if (a.position_embedding == PositionEmbedding::rope && !a.mla.on) {
    const auto rotated =
        static_cast<std::int64_t>(static_cast<double>(a.kv_channels) * a.rotary_percent);
    inverse_frequencies_ = empty({rotated / 2}, DType::float32, Category::buffer);
  }
  const nn::Scope layers = at("decoder") / "layers";
  for (std::int64_t i = 0; i < place.layers; ++i) {
    const std::int64_t index = place.first_layer + i;
    const bool experts = static_cast<std::size_t>(index) < a.moe.layers.size() &&
                         a.moe.layers[static_cast<std::size_t>(index)];
    layers_.emplace_back(layers / index, rank, experts);
  }
  if (!place.last) return;
  final_norm_.emplace(at("decoder") / "final_layernorm", rank, a.hidden_size);
  output_weight_ = a.tied() && place.first
                       ? word_embeddings_
                       : at("output_layer").parameter("weight", {vocabulary, a.hidden_size});
}

/// LanguageModelEmbedding over VocabParallelEmbedding.
Tensor GptModel::embed(const MicroBatch& batch) {
  const Arguments& a = rank_.a;
  Tensor words;
  if (a.tp > 1) {
    const Tensor outside = ghost::comparison("lt", batch.tokens);
    const Tensor inside = batch.tokens.clone();
    words = ghost::embedding(word_embeddings_, inside);
    words = apply({.name = "IndexPutBackward0",
                   .inputs = {words},
                   .forward =
                       [&](ToSave& save) {
                         save = {outside};
                         return words;
                       },
                   .backward = [](std::span<const Tensor>, const Tensor& grad,
                                  Gradients& in) { in[0] = grad.clone(); }});
  } else {
    words = ghost::embedding(word_embeddings_, batch.tokens);
  }
  const bool scatters = a.sequence_parallel && !position_embeddings_.defined();
  if (scatters) {
    const Tensor turned = words.transpose(0, 1).contiguous();
    words.reset();
    words = apply({.name = "_ReduceScatterToSequenceParallelRegionBackward",
                   .inputs = {turned},
                   .forward = [&](ToSave&) { return scattered(turned, a.tp); },
                   .backward =
                       [parts = a.tp](std::span<const Tensor>, const Tensor& grad, Gradients& in) {
                         Dims sizes = grad.sizes();
                         sizes[0] *= parts;
                         in[0] = empty(sizes, grad.dtype());
                       }});
    return ghost::dropout(words, a.hidden_dropout);
  }
  Tensor embeddings = words;
  if (position_embeddings_.defined())
    embeddings = words.add(ghost::embedding(position_embeddings_, batch.position_ids));
  words.reset();
  embeddings = embeddings.transpose(0, 1).contiguous();
  if (a.sequence_parallel)
    embeddings =
        apply({.name = "_ScatterToSequenceParallelRegionBackward",
               .inputs = {embeddings},
               .forward = [&](ToSave&) { return scattered(embeddings, a.tp); },
               .backward =
                   [parts = a.tp](std::span<const Tensor>, const Tensor& grad, Gradients& in) {
                     Dims sizes = grad.sizes();
                     sizes[0] *= parts;
                     in[0] = empty(sizes, grad.dtype());
                   }});
  return ghost::dropout(embeddings, a.hidden_dropout);
}

/// RotaryEmbedding.forward: an lru_cache keeps the angles of the last lengths.
Tensor GptModel::rotary_freqs() {
  const Arguments& a = rank_.a;
  if (a.position_embedding != PositionEmbedding::rope && !a.mla.on) return {};
  if (cached_freqs_.defined()) return cached_freqs_;
  const std::int64_t width =
      a.mla.on ? a.mla.qk_pos_emb_head_dim : inverse_frequencies_.size(0) * 2;
  const ghost::Op op("RotaryEmbedding", {});
  cached_freqs_ = empty({local_sequence(a), 1, 1, width}, DType::float32, Category::buffer);
  return cached_freqs_;
}

/// TransformerBlock: one layer after the other, or groups of them recomputed
/// (_checkpointed_forward).
Tensor GptModel::layers(Tensor hidden_states, const LayerInputs& inputs) {
  const Arguments& a = rank_.a;
  if (!recomputed_in_full(a)) {
    for (TransformerLayer& layer : layers_) hidden_states = layer(hidden_states, inputs);
    return hidden_states;
  }
  const auto count = static_cast<std::int64_t>(layers_.size());
  const std::int64_t group = a.recompute_block ? 1 : a.recompute_num_layers;
  for (std::int64_t from = 0; from < count; from += group) {
    const std::int64_t to = std::min(count, from + group);
    if (a.recompute_block && from >= a.recompute_num_layers) {
      hidden_states = layers_[static_cast<std::size_t>(from)](hidden_states, inputs);
      continue;
    }
    hidden_states = checkpoint(
        [this, from, to, inputs](std::span<const Tensor> in) {
          Tensor x = in[0];
          for (std::int64_t i = from; i < to; ++i)
            x = layers_[static_cast<std::size_t>(i)](x, inputs);
          return x;
        },
        {hidden_states});
  }
  return hidden_states;
}

Tensor output_layer(Rank& rank, const Tensor& x, const Tensor& weight) {
  const bool gathers = rank.a.sequence_parallel;
  const auto total_of = [&rank, gathers](const Tensor& input) {
    if (!gathers) return input;
    Dims sizes = input.sizes();
    sizes[0] *= rank.a.tp;
    return rank.global_buffer(sizes, input.dtype());
  };
  const bool fused = rank.a.gradient_accumulation_fusion;
  return apply(
      {.name = "LinearWithGradAccumulationAndAsyncCommunicationBackward",
       .inputs = {x, weight},
       .forward =
           [&](ToSave& save) {
             save = {x, weight};
             Tensor logits = total_of(x).matmul(weight.t());
             rank.use_cublas();
             return logits;
           },
       .backward =
           [&rank, total_of, gathers, fused](std::span<const Tensor> saved, const Tensor& grad,
                                             Gradients& in) {
             const std::optional<std::int64_t>& limit = rank.a.wgrad_deferral_limit;
             const bool waits =
                 limit && (*limit == 0 || static_cast<std::int64_t>(rank.deferred.size()) < *limit);
             if (waits) rank.deferred.push_back(grad);
             const Tensor total = waits ? Tensor() : total_of(saved[0]);
             const Tensor grad_input = grad.matmul(saved[1]);
             rank.use_cublas();
             Tensor shard;
             if (gathers) shard = empty(saved[0].sizes(), saved[0].dtype());
             if (waits)
               in[1].reset();
             else if (!fused)
               in[1] = grad.view({-1, grad.size(-1)}).t().matmul(total.view({-1, total.size(-1)}));
             else if (rank.a.transformer_engine)
               in[1] = rank.dummy_wgrad(saved[1].sizes(), saved[1].dtype());
             else
               in[1] = empty(saved[1].sizes(), saved[1].dtype());
             in[0] = gathers ? shard : grad_input;
           }});
}

/// compute_language_model_loss: labels [b s] to [s b] and the losses back.
Tensor GptModel::loss(const Tensor& logits, const Tensor& labels) {
  const Tensor turned = labels.transpose(0, 1).contiguous();
  return vocab_parallel_cross_entropy(rank_.a, logits, turned).transpose(0, 1).contiguous();
}

Tensor GptModel::forward(const MicroBatch& batch, const Tensor& from_before) {
  if (from_before.defined()) input_tensor = from_before;
  Tensor hidden_states = place_.first ? embed(batch) : from_before;
  const LayerInputs inputs{batch.attention_mask, rotary_freqs()};
  hidden_states = layers(std::move(hidden_states), inputs);
  if (!place_.last) return hidden_states;
  hidden_states = (*final_norm_)(hidden_states);
  const Tensor logits = output_layer(rank_, hidden_states, output_weight_);
  return loss(logits, batch.labels);
}

}  // namespace memtape::megatron
