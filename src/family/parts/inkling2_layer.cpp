// SPDX-License-Identifier: Apache-2.0
#include "family/parts/inkling2_layer.h"

#include <utility>

#include "ghost/ops/copies.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/matmul.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/sorting.h"
#include "nn/parametrize.h"

namespace memtape::family {
namespace {

constexpr std::int64_t kMessages = 4;  ///< for query, key, value and experts

Tensor capped_softly(const Tensor& x) { return ghost::tanh(x.div(2.0)).mul(2.0); }

/// Inkling2Experts._apply_gate: the sigmoid sees the raw gate, the other factors are capped.
Tensor softcapped_swiglu(const Tensor& gate_up, const nn::Activation&) {
  const std::vector<Tensor> halves = gate_up.chunk(2, -1);
  const Tensor gate = halves[0].to_float();
  const Tensor up = halves[1].to_float();
  return capped_softly(gate).mul(ghost::sigmoid(gate)).mul(capped_softly(up)).to(halves[0].dtype());
}

Tensor stacked(const Tensor& block_states, const Tensor& partial_block_states) {
  return ghost::cat({block_states, partial_block_states.unsqueeze(-2)}, -2).to_float();
}

/// Attends with the queries of every position [N, H] to what is stacked there: [B, N, S, H].
Tensor attend_to_blocks(const Tensor& queries, const Tensor& stacked_states) {
  const Tensor query_states = queries.expand(
      {stacked_states.size(0), stacked_states.size(1), queries.size(0), queries.size(1)});
  return inkling2_attend({}, query_states, stacked_states, stacked_states, {}, {}).attn_output;
}

}  // namespace

Inkling2TopKRouter::Inkling2TopKRouter(const nn::Scope& scope, const Inkling2Config& c)
    : Module(scope),
      top_k_(c.num_experts_per_tok),
      score_fn_(c.score_fn),
      weight_(scope.parameter("weight", {c.num_experts, c.hidden_size}, DType::float32)) {
  const ghost::ScopeGuard guard(node().scope);
  e_score_correction_bias_ = ghost::zeros({c.num_experts}, DType::float32);
  scope.buffer("e_score_correction_bias", e_score_correction_bias_);
}

Routing Inkling2TopKRouter::forward(const Tensor& x) {
  const nn::Parametrized weight(node(), weight_);
  const Tensor hidden_states = x.to_float();
  const Tensor flat = hidden_states.reshape({-1, x.size(-1)});
  Tensor logits = ghost::linear(flat, nn::value_of(weight_), {});
  const Tensor scores = score_fn_(logits);
  Tensor indices = ghost::topk(scores.add(e_score_correction_bias_), top_k_).second;
  Tensor weights = ghost::gather(scores, indices);
  weights = weights.div(weights.sum(-1, true).add(1e-20));
  Tensor scaled = weights.mul(2.0);
  return {std::move(logits), std::move(scaled), std::move(indices)};
}

Inkling2SparseMoeBlock::Inkling2SparseMoeBlock(const nn::Scope& scope, const Inkling2Config& c)
    : Module(scope),
      experts_(scope / "experts", c, {.apply_gate = softcapped_swiglu}),
      gate_(scope / "gate", c) {}

Tensor Inkling2SparseMoeBlock::forward(const Tensor& x) {
  const Tensor hidden_states = x.view({-1, x.size(-1)});
  const Routing routing = gate_(hidden_states);
  const Tensor final_hidden_states = experts_(hidden_states, routing.indices, routing.weights);
  return final_hidden_states.reshape(x.sizes());
}

Inkling2BlockResidual::Inkling2BlockResidual(const nn::Scope& scope, const Inkling2Config& c,
                                             std::int64_t queries)
    : Module(scope),
      query_(scope.parameter("query",
                             queries == 1 ? Dims{c.hidden_size} : Dims{queries, c.hidden_size},
                             DType::float32)),
      norm_(scope / "norm") {}

std::vector<Tensor> Inkling2BlockResidual::forward(const Tensor& block_states,
                                                   const Tensor& partial_block_states) {
  Tensor stacked_states = stacked(block_states, partial_block_states);
  stacked_states = norm_(stacked_states);
  const Tensor attn_output =
      attend_to_blocks(query_.to_float().view({-1, stacked_states.size(-1)}), stacked_states);
  return ghost::unbind(attn_output.transpose(1, 2), 2);
}

Inkling2MessageResidual::Inkling2MessageResidual(const nn::Scope& scope, const Inkling2Config& c)
    : Module(scope),
      made_(ghost::empty({c.hidden_size}, DType::float32)),
      query_(scope.parameter("query", {c.loop->end - c.loop->start, kMessages, c.hidden_size},
                             DType::float32)),
      norm_(scope / "norm") {
  made_.reset();
}

Tensor Inkling2MessageResidual::forward(const Tensor& block_states,
                                        const Tensor& partial_block_states,
                                        std::int64_t loop_layer) {
  Tensor stacked_states = stacked(block_states, partial_block_states);
  stacked_states = norm_(stacked_states);
  const Tensor attn_output =
      attend_to_blocks(query_.select(0, loop_layer).to_float(), stacked_states);
  return attn_output.transpose(1, 2);
}

Inkling2MessageGate::Inkling2MessageGate(const nn::Scope& scope, const Inkling2Config& c)
    : Module(scope),
      norm_(scope / "norm"),
      down_proj_(scope / "down_proj", 2 * c.hidden_size, c.loop->gate_rank, false),
      forget_gate_proj_(scope / "forget_gate_proj", c.loop->gate_rank, c.hidden_size, false,
                        DType::float32),
      message_gate_proj_(scope / "message_gate_proj", c.loop->gate_rank, c.hidden_size, false,
                         DType::float32) {}

Tensor Inkling2MessageGate::forward(const Tensor& x, const Tensor& given_message) {
  const Tensor hidden_states = x.to_float(), message = given_message.to_float();
  Tensor normed = norm_(hidden_states);
  Tensor gate_hidden_states = ghost::cat({std::move(normed), norm_(message)}, -1);
  gate_hidden_states = down_proj_(gate_hidden_states.to(down_proj_.weight.dtype())).to_float();
  const Tensor forget_gate = ghost::tanh(forget_gate_proj_(gate_hidden_states));
  const Tensor message_gate = ghost::tanh(message_gate_proj_(gate_hidden_states));
  return ghost::rsub(1.0, forget_gate).mul(hidden_states).add(message_gate.mul(message));
}

Inkling2DecoderLayer::Norms::Norms(const nn::Scope& scope, const Inkling2Config& c, bool slides) {
  if (slides) {
    input.emplace(scope / "input_layernorm", c.hidden_size);
  } else {
    query.emplace(scope / "q_input_layernorm", c.hidden_size);
    key.emplace(scope / "k_input_layernorm", c.hidden_size);
    value.emplace(scope / "v_input_layernorm", c.hidden_size);
  }
  post_attention.emplace(scope / "post_attention_layernorm", c.hidden_size);
}

Inkling2DecoderLayer::Gates::Gates(const nn::Scope& scope, const Inkling2Config& c)
    : query(scope / "q_message_gate", c),
      key(scope / "k_message_gate", c),
      value(scope / "v_message_gate", c),
      mlp(scope / "mlp_message_gate", c) {}

Inkling2DecoderLayer::Inkling2DecoderLayer(const nn::Scope& scope, const Inkling2Config& c,
                                           nn::ListIndex layer)
    : LayerOfSeveralInputs(scope), begins_block_(c.begins_block(layer)) {
  const bool slides = c.slides(layer);
  if (layer > 0) attention_input_.emplace(scope / "attention_input", c, slides ? 1 : 3);
  mlp_input_.emplace(scope / "mlp_input", c);
  self_attn_.emplace(scope / "self_attn", c, layer);
  mlp_.emplace(scope / "mlp", c);
  norms_.emplace(scope, c, slides);
  post_attention_convolution_.emplace(scope / "post_attention_convolution", c.hidden_size,
                                      c.conv_kernel);
  post_mlp_convolution_.emplace(scope / "post_mlp_convolution", c.hidden_size, c.conv_kernel);
  if (c.is_looped(layer)) gates_.emplace(scope, c);
}

/// Messages are taken apart behind the block's own attention.
Inkling2DecoderLayer::Inputs Inkling2DecoderLayer::inputs_of(const Tensor& x,
                                                             const Tensor& block_states,
                                                             const Tensor& messages) {
  Inputs of{.hidden_states = x, .query = {}, .key = {}, .value = {}, .messages = {}};
  const bool slides = norms_->input.has_value();
  if (slides) {
    if (attention_input_) of.hidden_states = (*attention_input_)(block_states, x)[0];
  } else {
    of.query = of.key = of.value = x;
    if (attention_input_) {
      std::vector<Tensor> each = (*attention_input_)(block_states, x);
      of.query = std::move(each[0]);
      of.key = std::move(each[1]);
      of.value = std::move(each[2]);
    }
  }
  if (!messages.defined()) {
    if (slides && gates_) of.query = of.key = of.value = (*norms_->input)(of.hidden_states);
    return of;
  }
  of.messages = ghost::unbind(messages, 2);
  const auto gated = [&](Inkling2MessageGate& gate, const Tensor& states, std::size_t message) {
    Tensor mixed = gate(slides ? of.hidden_states : states, of.messages[message]);
    return slides ? (*norms_->input)(std::move(mixed)) : mixed;
  };
  of.query = gated(gates_->query, of.query, 0);
  of.key = gated(gates_->key, of.key, 1);
  of.value = gated(gates_->value, of.value, 2);
  return of;
}

/// Arguments by name: they are held until attention returns, and dropped in their order.
Tensor Inkling2DecoderLayer::attend(const Inputs& inputs, DType dtype, const Tensor& attention_mask,
                                    const Tensor& relative_distance, const Tensor& position_ids) {
  Tensor query, key, value;
  if (norms_->query) {
    query = (*norms_->query)(inputs.query).to(dtype);
    key = (*norms_->key)(inputs.key).to(dtype);
    value = (*norms_->value)(inputs.value).to(dtype);
  } else if (gates_) {
    query = inputs.query.to(dtype);
    key = inputs.key.to(dtype);
    value = inputs.value.to(dtype);
  } else {
    query = key = value = (*norms_->input)(inputs.hidden_states).to(dtype);
  }
  Tensor attended =
      (*self_attn_)(query, key, value, attention_mask, relative_distance, position_ids);
  query.reset();
  key.reset();
  value.reset();
  return attended;
}

Tensor Inkling2DecoderLayer::forward(const Tensor& x, const Tensor& given_block_states,
                                     const Tensor& messages, const Tensor& attention_mask,
                                     const Tensor& relative_distance, const Tensor& position_ids) {
  const DType dtype = x.dtype();
  Tensor block_states = given_block_states;
  Inputs inputs = inputs_of(x, block_states, messages);
  Tensor hidden_states = attend(inputs, dtype, attention_mask, relative_distance, position_ids);
  inputs.hidden_states.reset();
  hidden_states = (*post_attention_convolution_)(hidden_states);

  hidden_states = hidden_states.to_float();
  Tensor residual = hidden_states;
  if (begins_block_) {
    block_states = ghost::cat({block_states, x.unsqueeze(-2)}, -2);
  } else {
    hidden_states = x.to_float().add(hidden_states);
    residual = hidden_states;
  }
  hidden_states = (*mlp_input_)(block_states, hidden_states)[0];
  if (messages.defined()) hidden_states = gates_->mlp(hidden_states, inputs.messages[3]);
  hidden_states = (*mlp_)((*norms_->post_attention)(hidden_states).to(dtype));
  hidden_states = (*post_mlp_convolution_)(hidden_states);
  return residual.add(hidden_states).to(dtype);
}

}  // namespace memtape::family
