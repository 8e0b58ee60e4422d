// SPDX-License-Identifier: Apache-2.0
#include "framework/megatron/language_model.h"

#include <algorithm>

#include "ghost/ops/comparisons.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/dropout.h"
#include "ghost/ops/embedding.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/reductions.h"

namespace memtape::megatron {
namespace {

using ghost::empty;
using ghost::Gradients;

}  // namespace

Tensor outside_of_shard(const Tensor& tokens) {
  Tensor above;
  const Tensor below = ghost::lt(tokens, 0);
  above = ghost::ge(tokens, ghost::kLimit);
  return ghost::bitwise_or(below, above);
}

Tensor counted_from_shard(const Tensor& tokens) {
  const Tensor copy = tokens.clone();
  return copy.sub(ghost::kLimit);
}

Embedding::Embedding(const nn::Scope& scope, Rank& rank, std::int64_t token_types) : rank_(rank) {
  const Arguments& a = rank.a;
  words_ =
      (scope / "word_embeddings").parameter("weight", {a.padded_vocab_size / a.tp, a.hidden_size});
  if (a.position_embedding == PositionEmbedding::learned_absolute)
    positions_ = (scope / "position_embeddings")
                     .parameter("weight", {a.max_position_embeddings, a.hidden_size});
  if (token_types > 0)
    types_ = (scope / "tokentype_embeddings").parameter("weight", {token_types, a.hidden_size});
}

/// F.embedding is not deterministic: weight[tokens] is.
Tensor Embedding::picked(const Tensor& tokens) {
  return rank_.a.deterministic ? ghost::index(words_, tokens) : ghost::embedding(words_, tokens);
}

Tensor Embedding::looked_up(const Tensor& tokens) {
  const Arguments& a = rank_.a;
  if (a.tp == 1) return picked(tokens);
  const Tensor outside = outside_of_shard(tokens), inside = counted_from_shard(tokens);
  const Tensor words = picked(inside);
  return apply({.name = "IndexPutBackward0",
                .inputs = {words},
                .forward =
                    [&](ToSave& save) {
                      save = {outside};
                      return words;
                    },
                .backward = [](std::span<const Tensor>, const Tensor& grad,
                               Gradients& in) { in[0] = grad.clone(); }});
}

Tensor Embedding::operator()(const Tensor& tokens, const Tensor& position_ids) {
  const Arguments& a = rank_.a;
  Tensor words = looked_up(tokens);
  const bool scatters = a.sequence_parallel && !positions_.defined();
  if (scatters) {
    Tensor turned = words.transpose(0, 1).contiguous();
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
    turned.reset();
    words = words.clone();  // clone_scatter_output_in_embedding
    return ghost::dropout(words, a.hidden_dropout);
  }
  Tensor embeddings = words;
  if (positions_.defined()) embeddings = words.add(ghost::embedding(positions_, position_ids));
  words.reset();
  embeddings = embeddings.transpose(0, 1).contiguous();
  if (types_.defined()) {
    const Tensor types = ghost::embedding(types_, tokens);
    embeddings = embeddings.add(types.permute({1, 0, 2}));
  }
  if (a.sequence_parallel) {
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
    embeddings = embeddings.clone();  // clone_scatter_output_in_embedding
  }
  return ghost::dropout(embeddings, a.hidden_dropout);
}

TransformerBlock::TransformerBlock(const nn::Scope& scope, Rank& rank, const Shape& shape)
    : rank_(rank) {
  const std::vector<bool>& moe = rank.a.moe.layers;
  for (std::int64_t i = shape.first_layer; i < shape.first_layer + shape.layers; ++i) {
    const auto at = static_cast<std::size_t>(i);
    layers_.emplace_back(
        scope / "layers" / i, rank,
        LayerKind{.experts = at < moe.size() && moe[at], .crosses = shape.crosses});
  }
  if (shape.final_norm) final_norm_.emplace(scope / "final_layernorm", rank, rank.a.hidden_size);
}

/// make_viewless_tensor of utils.py: a tensor of one element, until the view's data is its own.
void TransformerBlock::make_viewless(const Tensor& hidden_states) {
  if (!hidden_states.impl().base) return;
  const ghost::Op op("make_viewless_tensor", {});
  const Tensor made = empty({1}, hidden_states.dtype());
}

/// TransformerBlock: one layer after the other, or groups of them recomputed
/// (_checkpointed_forward).
Tensor TransformerBlock::operator()(Tensor hidden_states, const LayerInputs& inputs) {
  const Arguments& a = rank_.a;
  make_viewless(hidden_states);
  // maybe_enable_recompute_inputs_grad of Megatron-Bridge's peft/recompute.py.
  if (a.lora && a.recompute == Recompute::full && !hidden_states.requires_grad())
    hidden_states.impl().requires_grad = true;
  if (a.recompute != Recompute::full) {
    for (TransformerLayer& layer : layers_) hidden_states = layer(hidden_states, inputs);
    return final_norm_ ? (*final_norm_)(hidden_states) : hidden_states;
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
  return final_norm_ ? (*final_norm_)(hidden_states) : hidden_states;
}

namespace {

/// linear_with_frozen_weight: saves the weight alone.
Tensor frozen_output_layer(Rank& rank, const Tensor& x, const Tensor& weight) {
  const Tensor total = rank.a.sequence_parallel ? gather_rows(x, rank.a.tp) : x;
  return apply({.name = "LinearWithFrozenWeightBackward",
                .inputs = {total, weight},
                .forward =
                    [&](ToSave& save) {
                      save = {weight};
                      Tensor logits = total.matmul(weight.t());
                      rank.use_cublas();
                      return logits;
                    },
                .backward =
                    [&rank](std::span<const Tensor> saved, const Tensor& grad, Gradients& in) {
                      in[0] = grad.matmul(saved[0]);
                      rank.use_cublas();
                    }});
}

}  // namespace

Tensor output_layer(Rank& rank, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  if (!weight.requires_grad() && !bias.defined()) return frozen_output_layer(rank, x, weight);
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
       .inputs = {x, weight, bias},
       .forward =
           [&](ToSave& save) {
             save = {x, weight};
             const std::optional<std::int64_t>& limit = rank.a.wgrad_deferral_limit;
             if (limit &&
                 (*limit == 0 || static_cast<std::int64_t>(rank.deferred_inputs.size()) < *limit))
               rank.deferred_inputs.push_back(x);
             Tensor logits = total_of(x).matmul(weight.t());
             rank.use_cublas();
             return bias.defined() ? logits.add(bias) : logits;
           },
       .backward =
           [&rank, total_of, gathers, fused, biased = bias.defined()](
               std::span<const Tensor> saved, const Tensor& grad, Gradients& in) {
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
             else if (rank.a.fused_kernels)
               in[1] = rank.dummy_wgrad(saved[1].sizes(), saved[1].dtype());
             else
               in[1] = empty(saved[1].sizes(), saved[1].dtype());
             if (biased) in[2] = grad.view({-1, grad.size(-1)}).sum(0);
             in[0] = gathers ? shard : grad_input;
           },
       .python_holds = rank.a.pretrain_loop});
}

Tensor language_model_loss(const Arguments& a, const Tensor& logits, const Tensor& labels) {
  const Tensor turned = labels.transpose(0, 1).contiguous();
  return vocab_parallel_cross_entropy(a, logits, turned).transpose(0, 1).contiguous();
}

Tensor masked_sum(const Tensor& losses, const Tensor& loss_mask) {
  const Tensor flat = losses.view({-1}).to_float();
  if (!loss_mask.defined()) return ghost::sum_all(flat);
  return ghost::sum_all(flat.mul(loss_mask.view({-1})));
}

}  // namespace memtape::megatron
