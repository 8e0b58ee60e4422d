// SPDX-License-Identifier: Apache-2.0
// ForwardArguments: what generate() passes to a model's forward in addition to tokens and mask. It
// holds while this lives. A training step passes none of it: the model counts its positions itself
// and makes logits for every token.
#pragma once

#include <string_view>

#include "family/caches/key_value_cache.h"
#include "ghost/given.h"
#include "release/transformers_changes.h"

namespace memtape::family {

class ForwardArguments {
 public:
  static constexpr ghost::Slot kSlot = ghost::Slot::forward_arguments;
  /// A prefill reads the prompt; after it generate() sets the model up for single tokens
  /// (_optimize_model_for_decode).
  enum class Stage { prefill, decode };

  /// `logits_to_keep`: logits are made for so many of the last tokens; 0 means for all.
  ForwardArguments(KeyValueCache* past_key_values, Tensor position_ids, std::int64_t logits_to_keep,
                   Stage stage);

 private:
  friend Tensor passed_position_ids();
  friend Tensor kept_for_logits(const Tensor& hidden_states, std::string_view model_type);
  friend bool is_decoding();

  ghost::Given<ForwardArguments> given_{this};
  KeyValueCache::Passed cache_;
  Tensor position_ids_;
  std::int64_t logits_to_keep_;
  Stage stage_;
};

/// Whether the model is set up for single tokens.
bool is_decoding();

/// The position_ids that were passed; undefined when none were.
Tensor passed_position_ids();

/// Since when a model adds past_seen_tokens to torch.arange(S), by its type.
const Change& positions_added_since(std::string_view model_type);

/// The passed position_ids, or torch.arange(S), to which past_seen_tokens are added since that
/// release, unsqueezed to [1, S].
Tensor position_ids_for(const Tensor& inputs_embeds,
                        const Change& added_since = changes::kAllPositionsAreAdded);

/// hidden_states[:, slice_indices, :]: the states that the head makes logits of. Heads of releases
/// that know no logits_to_keep take them whole.
Tensor kept_for_logits(const Tensor& hidden_states, std::string_view model_type);

}  // namespace memtape::family
