// SPDX-License-Identifier: Apache-2.0
#include "framework/megatron/mtp.h"

#include "ghost/ops/creation.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/reductions.h"

namespace memtape::megatron {
namespace {

using ghost::empty;
using ghost::Gradients;

/// roll_tensor: one place on; the sum is read and goes.
Tensor rolled(const Tensor& t) {
  const ghost::Op op("roll", {});
  Tensor out = empty(t.sizes(), t.dtype());
  const Tensor sum = empty({}, t.dtype());
  return out;
}

/// MTPLossAutoScaler: hands the hidden states on; backward makes the loss's gradient.
Tensor hang_loss(const Tensor& hidden_states, const Tensor& loss) {
  return apply({.name = "MTPLossAutoScalerBackward",
                .inputs = {hidden_states, loss},
                .forward =
                    [&](ToSave& save) {
                      save = {loss};
                      return hidden_states.view(hidden_states.sizes());
                    },
                .backward =
                    [](std::span<const Tensor> saved, const Tensor& grad, Gradients& in) {
                      in[0] = grad;
                      const Tensor ones = empty(saved[0].sizes(), saved[0].dtype());
                      in[1] = empty(saved[0].sizes(), saved[0].dtype());
                    }});
}

}  // namespace

MtpBlock::Layer::Layer(const nn::Scope& scope, Rank& r, bool experts)
    : rank(r),
      enorm(scope / "enorm", r, r.a.hidden_size),
      hnorm(scope / "hnorm", r, r.a.hidden_size),
      eh_proj(scope / "eh_proj", r, {.in = 2 * r.a.hidden_size, .out = r.a.hidden_size}),
      final_norm(scope / "final_layernorm", r, r.a.hidden_size) {
  if (r.a.mtp_layers.empty())
    layer.emplace(scope / "mtp_model_layer", r, LayerKind{.experts = experts});
  else
    stack.emplace(scope / "mtp_model_layer", r, r.a.mtp_layers, false);
}

/// _concat_embeddings.
Tensor MtpBlock::Layer::joined(const Tensor& hidden_states, const Tensor& embedded) {
  const Tensor tokens = enorm(embedded);
  const Tensor before = hnorm(hidden_states);
  Tensor both = ghost::cat({tokens, before}, -1);
  both = gather_columns(eh_proj(both), rank.a.tp);
  return rank.a.sequence_parallel ? own_rows(both, rank.a.tp) : both;
}

Tensor MtpBlock::Layer::operator()(const Tensor& hidden_states, MtpInputs& inputs,
                                   Embedding& embedding) {
  inputs.tokens = rolled(inputs.tokens);
  if (inputs.position_ids.defined()) inputs.position_ids = rolled(inputs.position_ids);
  const Tensor embedded = embedding(inputs.tokens, inputs.position_ids);
  const Tensor both = joined(hidden_states, embedded);
  const Tensor output = stack ? (*stack)(both, inputs.layer) : (*layer)(both, inputs.layer);
  return final_norm(output);
}

MtpBlock::MtpBlock(const nn::Scope& scope, Rank& rank, bool experts) : rank_(rank) {
  const std::int64_t built = rank.a.mtp_repeats_layer ? 1 : rank.a.mtp_num_layers;
  for (std::int64_t i = 0; i < built; ++i)
    layers_.emplace_back(scope / "layers" / i, rank, experts);
}

Tensor MtpBlock::operator()(const Tensor& hidden_states, MtpInputs inputs, Embedding& embedding) {
  std::vector<Tensor> all{hidden_states};
  for (std::int64_t depth = 0; depth < rank_.a.mtp_num_layers; ++depth) {
    const std::size_t at = rank_.a.mtp_repeats_layer ? 0 : static_cast<std::size_t>(depth);
    const Tensor before = all.back();
    all.push_back(layers_[at](before, inputs, embedding));
  }
  return ghost::cat(all, 0);
}

Tensor with_mtp_losses(Rank& rank, const Tensor& hidden_states, const Tensor& output_weight,
                       MtpLabels labels) {
  const std::vector<Tensor> parts = hidden_states.chunk(rank.a.mtp_num_layers + 1, 0);
  Tensor main = parts[0];
  labels.labels = labels.labels.clone();
  if (!labels.loss_mask.defined())
    labels.loss_mask = ghost::ones(labels.labels.sizes(), DType::int64);
  Tensor logits, loss;
  for (std::size_t depth = 1; depth < parts.size(); ++depth) {
    logits = output_layer(rank, parts[depth], output_weight, {});
    labels.labels = rolled(labels.labels);
    labels.loss_mask = rolled(labels.loss_mask);
    loss = language_model_loss(rank.a, logits, labels.labels);
    loss = labels.loss_mask.mul(loss);
    main = hang_loss(main, loss.mul(0.1).mul(ghost::kScale));
  }
  return main;
}

}  // namespace memtape::megatron
