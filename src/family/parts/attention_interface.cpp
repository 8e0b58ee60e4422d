// SPDX-License-Identifier: Apache-2.0
#include "family/parts/attention_interface.h"
#include "family/masks/early_causal_mask.h"

#include <utility>

#include "family/masks/sequence_lengths.h"
#include "family/parts/attention_calls.h"
#include "ghost/autocast.h"
#include "ghost/ops/attention.h"
#include "ghost/ops/dropout.h"
#include "ghost/ops/matmul.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "ghost/ops/views.h"
#include "nn/layer_frame.h"
#include "release/sdpa_changes.h"
#include "release/transformers_5_changes.h"
#include "release/transformers_changes.h"

namespace memtape::family {
namespace {

/// flash-attn's kernels take fewer key heads than query heads, in every release
/// (modeling_flash_attention_utils.py:_flash_attention_forward repeats none).
bool flash_groups_heads(const AttentionCall& call, const Tensor& attention_mask) {
  return call.implementation == AttentionImplementation::flash && !attention_mask.defined();
}

/// use_gqa_in_sdpa: only without a mask, and for heads that flash takes.
bool use_gqa_in_sdpa(const Tensor& attention_mask, const Tensor& key, const Tensor& value) {
  const bool flash_takes = key.size(-1) == value.size(-1) && value.size(-1) <= 256;
  return ghost::has(changes::kSdpaGroupsHeads) && ghost::has(changes::kSdpaHasEnableGqa) &&
         !attention_mask.defined() &&
         (flash_takes || !ghost::has(changes::kSdpaGroupsHeadsOfFlash));
}

Tensor sdpa_attention_forward(const AttentionCall& call, Tensor query, Tensor key, Tensor value,
                              const Tensor& attention_mask) {
  bool enable_gqa = false;
  if (call.num_key_value_groups > 1) {
    enable_gqa =
        flash_groups_heads(call, attention_mask) || use_gqa_in_sdpa(attention_mask, key, value);
    if (!enable_gqa) {
      key = repeat_kv(key, call.num_key_value_groups);
      value = repeat_kv(value, call.num_key_value_groups);
    }
  }
  const bool is_packed = !ghost::has(changes::kSdpaTakesAnyLayout) &&
                         call.implementation != AttentionImplementation::flash;
  if (is_packed)
    for (Tensor* states : {&query, &key, &value}) *states = states->contiguous();
  const bool is_causal = query.size(2) > 1 && !attention_mask.defined() && call.is_causal;
  if (is_causal && key.size(2) > query.size(2)) {  // a fixed cache, empty so far
    key = key.slice(2, 0, query.size(2));
    value = value.slice(2, 0, query.size(2));
  }
  return ghost::scaled_dot_product_attention(
             query, key, value, attention_mask,
             {.dropout = ghost::session().training ? call.dropout : 0.0,
              .is_causal = is_causal,
              .enable_gqa = enable_gqa})
      .transpose(1, 2)
      .contiguous();
}

/// flash_attention_forward of rows whose sequences are told apart.
Tensor varlen_attention_forward(const Tensor& query, const Tensor& key, const Tensor& value,
                                const ghost::SequenceBounds& cu_seq_lens) {
  const auto flattened = [](const Tensor& x) {
    const Tensor rows = x.transpose(1, 2);
    return rows.reshape({rows.size(0) * rows.size(1), rows.size(2), rows.size(3)});
  };
  const Tensor out =
      ghost::flash_attn_varlen(flattened(query), flattened(key), flattened(value), cu_seq_lens);
  return out.view({query.size(0), query.size(2), out.size(1), out.size(2)});
}

/// The lines of eager_attention_forward that turn scores into probabilities: what they rebind is
/// gone with its next value.
void eager_softmax(const AttentionCall& call, Tensor& attn_weights, DType query_dtype,
                   DType value_dtype) {
  if (call.eager_softmax == EagerSoftmax::float32) {
    attn_weights = ghost::softmax(attn_weights, DType::float32).to(query_dtype);
    return;
  }
  attn_weights = ghost::softmax(attn_weights, ghost::reduction_dtype(attn_weights));
  if (call.eager_softmax == EagerSoftmax::value_dtype) attn_weights = attn_weights.to(value_dtype);
}

void add_mask(const AttentionCall& call, Tensor& attn_weights, const Tensor& attention_mask) {
  if (call.added_mask_in_place && !ghost::has(*call.interface_since))
    ghost::add_(attn_weights, attention_mask);
  else
    attn_weights = attn_weights.add(attention_mask);
}

/// What follows once keys and values are there for each head.
Tensor eager_attention(const AttentionCall& call, const Tensor& query, const Tensor& key_states,
                       const Tensor& value_states, const Tensor& attention_mask) {
  Tensor attn_weights = query.matmul(key_states.transpose(2, 3)).mul(ghost::kScale);
  if (call.softcap) {
    attn_weights = attn_weights.div(*call.softcap);
    attn_weights = ghost::tanh(attn_weights);
    attn_weights = attn_weights.mul(*call.softcap);
  }
  if (attention_mask.defined()) add_mask(call, attn_weights, attention_mask);
  eager_softmax(call, attn_weights, query.dtype(), value_states.dtype());
  attn_weights = ghost::dropout(attn_weights, call.dropout);
  Tensor attn_output = attn_weights.matmul(value_states).transpose(1, 2);
  if (call.eager_output_packed) attn_output = attn_output.contiguous();
  nn::LayerFrame::keep_attention_weights(attn_weights);
  return attn_output;
}

Tensor eager_attention_forward(const AttentionCall& call, const Tensor& query, const Tensor& key,
                               const Tensor& value, const Tensor& attention_mask) {
  const Tensor key_states = repeat_kv(key, call.num_key_value_groups);
  const Tensor value_states = repeat_kv(value, call.num_key_value_groups);
  return eager_attention(call, query, key_states, value_states, attention_mask);
}

}  // namespace

/// LlamaAttention.forward and LlamaSdpaAttention.forward of transformers 4.47.
Tensor written_out_attention(const AttentionCall& call, Tensor& query, Tensor& key, Tensor& value,
                             const Tensor& given_mask) {
  const bool groups = flash_groups_heads(call, given_mask);
  if (!groups) {
    key = repeat_kv(key, call.num_key_value_groups);
    value = repeat_kv(value, call.num_key_value_groups);
  }
  const bool picks = call.picks_mask_rows && given_mask.defined();
  const Tensor attention_mask = picks ? rows_of_mask(given_mask, query.size(2)) : given_mask;
  if (call.implementation == AttentionImplementation::eager)
    return eager_attention(call, query, key, value, attention_mask);
  if (attention_mask.defined())
    for (Tensor* states : {&query, &key, &value}) *states = states->contiguous();
  const bool is_causal = query.size(2) > 1 && !attention_mask.defined() && call.is_causal;
  return ghost::scaled_dot_product_attention(
             query, key, value, attention_mask,
             {.dropout = ghost::session().training ? call.dropout : 0.0,
              .is_causal = is_causal,
              .enable_gqa = groups && call.num_key_value_groups > 1})
      .transpose(1, 2)
      .contiguous();
}

Tensor attention_interface(const AttentionCall& call, const Tensor& query, const Tensor& key,
                           const Tensor& value, const Tensor& attention_mask) {
  AttentionCalls::note(query, key, value);
  if (!ghost::has(*call.interface_since) && !SequenceLengths::passed()) {
    Tensor query_states = query, key_states = key, value_states = value;
    return written_out_attention(call, query_states, key_states, value_states, attention_mask);
  }
  if (call.implementation == AttentionImplementation::eager)
    return eager_attention_forward(call, query, key, value, attention_mask);
  const ghost::SequenceBounds* cu_seq_lens = SequenceLengths::passed();
  if (call.implementation == AttentionImplementation::flash && cu_seq_lens)
    return varlen_attention_forward(query, key, value, *cu_seq_lens);
  return sdpa_attention_forward(call, query, key, value, attention_mask);
}

Tensor repeat_kv(const Tensor& hidden_states, std::int64_t n_rep) {
  if (n_rep == 1) return hidden_states;
  const Dims& s = hidden_states.sizes();
  const Tensor grouped = ghost::indexed_by_colons(hidden_states, 2).unsqueeze(2);
  return ghost::indexed_by_colons(grouped, 2)
      .expand({s[0], s[1], n_rep, s[2], s[3]})
      .reshape({s[0], s[1] * n_rep, s[2], s[3]});
}

}  // namespace memtape::family
