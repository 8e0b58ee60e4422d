// SPDX-License-Identifier: Apache-2.0
#include "family/parts/forward_arguments.h"

#include <algorithm>
#include <utility>

#include "ghost/ops/creation.h"
#include "ghost/ops/views.h"
#include "ghost/session.h"
#include "release/transformers_changes.h"

namespace memtape::family {

ForwardArguments::ForwardArguments(KeyValueCache* past_key_values, Tensor position_ids,
                                   std::int64_t logits_to_keep, Stage stage)
    : cache_(past_key_values),
      position_ids_(std::move(position_ids)),
      logits_to_keep_(logits_to_keep),
      stage_(stage) {}

Tensor passed_position_ids() {
  const auto* const passed = ghost::given_here<ForwardArguments>();
  return passed ? passed->position_ids_ : Tensor();
}

Tensor position_ids_for(const Tensor& inputs_embeds) {
  if (Tensor passed = passed_position_ids(); passed.defined()) return passed;
  const Tensor counted = ghost::arange(inputs_embeds.size(1), DType::int64);
  return (ghost::has(changes::kPositionsAreAdded) ? counted.add(0) : counted).unsqueeze(0);
}

bool is_decoding() {
  const auto* const passed = ghost::given_here<ForwardArguments>();
  return passed && passed->stage_ == ForwardArguments::Stage::decode;
}

Tensor kept_for_logits(const Tensor& hidden_states) {
  const auto* const passed = ghost::given_here<ForwardArguments>();
  if (!passed || passed->logits_to_keep_ == 0) return ghost::indexed_by_colons(hidden_states, 3);
  const std::int64_t tokens = hidden_states.size(1);
  return hidden_states.slice(1, std::max<std::int64_t>(0, tokens - passed->logits_to_keep_),
                             tokens);
}

}  // namespace memtape::family
