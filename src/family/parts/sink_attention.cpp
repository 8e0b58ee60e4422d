// SPDX-License-Identifier: Apache-2.0
#include "family/parts/sink_attention.h"

#include "family/parts/attention_calls.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/dropout.h"
#include "ghost/ops/flash_attn_3.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/reductions.h"
#include "ghost/ops/sorting.h"
#include "ghost/session.h"
#include "nn/layer_frame.h"

namespace memtape::family {

AttentionImplementation sink_implementation(AttentionImplementation asked) {
  return asked == AttentionImplementation::flash ? asked : AttentionImplementation::eager;
}

Tensor sink_attention(const AttentionCall& call, const Tensor& query, const Tensor& key,
                      const Tensor& value, const Tensor& attention_mask, const Tensor& sinks) {
  AttentionCalls::note(query, key, value);
  if (call.implementation == AttentionImplementation::flash)
    return ghost::flash_attn_3(query.transpose(1, 2), key.transpose(1, 2), value.transpose(1, 2));
  const Tensor key_states = repeat_kv(key, call.num_key_value_groups);
  const Tensor value_states = repeat_kv(value, call.num_key_value_groups);
  Tensor attn_weights = query.matmul(key_states.transpose(2, 3)).mul(ghost::kScale);
  if (attention_mask.defined()) attn_weights = attn_weights.add(attention_mask);

  const Tensor sink_logits =
      sinks.reshape({1, -1, 1, 1}).expand({query.size(0), -1, query.size(2), -1});
  Tensor combined_logits = ghost::cat({attn_weights, sink_logits}, -1);
  Tensor largest = ghost::max_along_last(combined_logits).first;
  combined_logits = combined_logits.sub(std::move(largest));
  const Tensor probs = ghost::softmax(combined_logits, combined_logits.dtype());
  const Tensor scores = probs.slice(-1, 0, -1);
  attn_weights = ghost::dropout(scores, call.dropout).to(value_states.dtype());
  Tensor attn_output = attn_weights.matmul(value_states).transpose(1, 2).contiguous();
  nn::LayerFrame::keep_attention_weights(attn_weights);
  return attn_output;
}

}  // namespace memtape::family
