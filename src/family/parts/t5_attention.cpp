// SPDX-License-Identifier: Apache-2.0
#include "family/parts/t5_attention.h"

#include <utility>

#include "family/parts/attention_interface.h"
#include "family/parts/t5_position.h"
#include "ghost/autocast.h"
#include "ghost/ops/comparisons.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/dropout.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "ghost/ops/views.h"
#include "release/encoder_changes.h"
#include "release/transformers_changes.h"

namespace memtape::family {
namespace {

struct AttentionInputs {
  Tensor query, key, value, mask, position_bias;
};

/// create_position_bias_mask: the bias, and the least number where a mask or causality hides a
/// token.
Tensor create_position_bias_mask(const AttentionInputs& in, bool is_causal) {
  if (in.mask.defined()) {
    if (in.mask.dtype() == DType::boolean) return where_or_number(in.mask, in.position_bias);
    return in.position_bias.add(in.mask);
  }
  if (!is_causal) return in.position_bias;
  Tensor causal_mask;
  {
    const Tensor queries = ghost::arange(in.query.size(2), DType::int64);
    const Tensor keys = ghost::arange(in.key.size(2), DType::int64);
    causal_mask = ghost::ge(queries.unsqueeze(1), keys.unsqueeze(0));
  }
  return where_or_number(causal_mask.view({1, 1, in.query.size(2), in.key.size(2)}),
                         in.position_bias);
}

Tensor t5_sdpa_attention(const AttentionInputs& in, double dropout, bool is_causal) {
  Tensor attention_mask = create_position_bias_mask(in, is_causal && in.query.size(2) > 1);
  if (ghost::has(changes::kPositionBiasMaskIsPacked)) attention_mask = attention_mask.contiguous();
  return attention_interface({.dropout = dropout, .is_causal = false}, in.query, in.key, in.value,
                             attention_mask);
}

std::pair<Tensor, Tensor> t5_eager_attention(const AttentionInputs& in, double dropout) {
  Tensor attn_weights = in.query.matmul(in.key.transpose(2, 3)).mul(ghost::kScale);
  attn_weights = attn_weights.add(in.position_bias);
  if (in.mask.defined()) attn_weights = attn_weights.add(in.mask);
  attn_weights = ghost::softmax(attn_weights, ghost::reduction_dtype(attn_weights));
  attn_weights = ghost::dropout(attn_weights, dropout);
  Tensor attn_output = attn_weights.matmul(in.value);
  attn_output = attn_output.transpose(1, 2).contiguous();
  return {std::move(attn_output), std::move(attn_weights)};
}

/// The lines of T5Attention.forward before it went through the interface: scores take the bias in
/// place and live until the projection behind.
std::pair<Tensor, Tensor> attend_in_place(const AttentionInputs& in, double dropout,
                                          Tensor& scores) {
  ghost::add_(scores, in.position_bias);
  Tensor attn_weights = ghost::softmax(scores.to_float(), DType::float32).to(scores.dtype());
  attn_weights = ghost::dropout(attn_weights, dropout);
  Tensor attn_output = attn_weights.matmul(in.value);
  attn_output = attn_output.transpose(1, 2).contiguous();
  return {std::move(attn_output), std::move(attn_weights)};
}

}  // namespace

T5Attention::T5Attention(const nn::Scope& scope, const T5Config& c, T5AttentionKind kind,
                         bool has_relative_attention_bias)
    : Module(scope),
      tree_(scope.tree()),
      kind_(kind),
      n_heads_(c.num_heads),
      key_value_proj_dim_(c.d_kv),
      dropout_(c.dropout_rate),
      shares_position_bias_(c.shares_position_bias),
      attention_(c.attention),
      q_(scope / "q", c.d_model, c.num_heads * c.d_kv, false),
      k_(scope / "k", c.d_model, c.num_heads * c.d_kv, false),
      v_(scope / "v", c.d_model, c.num_heads * c.d_kv, false),
      o_(scope / "o", c.num_heads * c.d_kv, c.d_model, false) {
  if (has_relative_attention_bias)
    relative_attention_bias_.emplace(scope / "relative_attention_bias",
                                     c.relative_attention_num_buckets, c.num_heads);
}

/// The places of queries where the stack counted none, since kT5CountsNoPositions with those behind
/// a cache.
Tensor T5Attention::counted_here(std::int64_t query_length) {
  const Tensor positions = ghost::arange(query_length, DType::int64).unsqueeze(1);
  return ghost::has(changes::kT5CountsNoPositions) ? positions.add(0) : positions;
}

Tensor T5Attention::compute_bias(std::int64_t query_length, std::int64_t key_length,
                                 const Tensor& cache_position) {
  const Tensor context_position =
      cache_position.defined() ? cache_position.unsqueeze(1) : counted_here(query_length);
  const Tensor memory_position = ghost::arange(key_length, DType::int64).unsqueeze(0);
  const Tensor relative_position = memory_position.sub(context_position);
  const Tensor relative_position_bucket = t5_relative_position_bucket(
      relative_position, kind_ == T5AttentionKind::encoder, !shares_position_bias_);
  const Tensor values = (*relative_attention_bias_)(relative_position_bucket);
  return values.permute({2, 0, 1}).unsqueeze(0);
}

Tensor T5Attention::make_position_bias(const Tensor& query_states, const Tensor& key_states,
                                       const Tensor& cache_position) {
  const std::int64_t query_length = query_states.size(2), key_length = key_states.size(2);
  if (relative_attention_bias_) {
    const Tensor bias = compute_bias(query_length, key_length, cache_position);
    // position_bias[:, :, -seq_length:, :]
    return cache_position.defined() ? ghost::indexed_by_colons(bias, 4) : bias;
  }
  Tensor position_bias =
      ghost::zeros({1, n_heads_, query_length, key_length}, query_states.dtype());
  position_bias.impl().requires_grad =
      shares_position_bias_ ? tree_.gradient_checkpointing != nn::GradientCheckpointing::off
                            : !ghost::has(changes::kT5StacksCountPositions);
  return position_bias;
}

T5AttentionOutput T5Attention::forward(const Tensor& hidden_states, const Tensor& mask,
                                       const Tensor& key_value_states,
                                       const Tensor& given_position_bias,
                                       const Tensor& cache_position) {
  const Dims input_shape = hidden_states.sizes().leading();
  const auto heads = [&](const Tensor& projected) {
    return projected.view(projected.sizes().leading().with(-1).with(key_value_proj_dim_))
        .transpose(1, 2);
  };
  AttentionInputs in;
  in.mask = mask;
  const bool queries_last = !shares_position_bias_ && !ghost::has(changes::kT5StacksCountPositions);
  if (!queries_last) in.query = heads(q_(hidden_states));
  const Tensor& current_states = key_value_states.defined() ? key_value_states : hidden_states;
  in.key = heads(k_(current_states));
  in.value = heads(v_(current_states));
  if (queries_last) in.query = heads(q_(hidden_states));

  T5AttentionOutput out;
  Tensor scores, real_seq_length;
  const bool in_place = !ghost::has(changes::kT5AttentionIsAnInterface);
  if (in_place) scores = in.query.matmul(in.key.transpose(3, 2));
  in.position_bias = given_position_bias;
  if (!given_position_bias.defined()) {
    if (shares_position_bias_ && cache_position.defined() && !key_value_states.defined())
      real_seq_length = cache_position.slice(0, 0, 1).add(1);
    in.position_bias = make_position_bias(in.query, in.key, cache_position);
    if (in_place && mask.defined()) in.position_bias = in.position_bias.add(mask);
  }
  if (in_place)
    std::tie(out.attn_output, out.attn_weights) = attend_in_place(in, dropout_, scores);
  else if (attention_ == AttentionImplementation::eager)
    std::tie(out.attn_output, out.attn_weights) = t5_eager_attention(in, dropout_);
  else
    out.attn_output =
        t5_sdpa_attention(in, dropout_,
                          kind_ == T5AttentionKind::decoder &&
                              (shares_position_bias_ || ghost::has(changes::kUmt5DecoderIsCausal)));
  out.attn_output = out.attn_output.reshape(input_shape.with(-1)).contiguous();
  out.attn_output = o_(out.attn_output);
  if (shares_position_bias_) {
    out.position_bias = in.position_bias;
    if (in_place) out.attn_weights.reset();  // returned where somebody asks for them
  }
  return out;
}

}  // namespace memtape::family
