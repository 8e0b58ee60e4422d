// SPDX-License-Identifier: Apache-2.0
// Attention masks as transformers' masking_utils.py builds them: nothing where sdpa's is_causal or
// no mask at all will do, one bool [B, 1, S, S] where sdpa needs one, an additive one in the
// model's dtype for eager attention.
#pragma once

#include <optional>
#include <span>

#include "family/pretrained.h"
#include "ghost/given.h"
#include "release/transformers_changes.h"

namespace memtape::family {

struct MaskRequest {
  AttentionImplementation attention = AttentionImplementation::sdpa;
  Tensor attention_mask;            ///< [B, Skv] of the tokenizer, may be undefined
  std::int64_t sliding_window = 0;  ///< tokens a query sees; for sliding layers
  bool has_padding = false;         ///< attention_mask hides some token
  bool allow_is_causal_skip =
      true;  ///< false: a causal mask is made even where sdpa could do without
  const Change& shared_since =
      changes::kMasksAreShared;  ///< from when on masking_utils.py makes the model's masks
  bool one_more_key = true;      ///< before, its own mask had a column too many (not Falcon's)
};

/// While it lives, rows are taken to hold several sequences each (packing): find_packed_sequence_
/// indices then says so, and a mask is made that keeps them apart.
class PackedSequences {
 public:
  static constexpr ghost::Slot kSlot = ghost::Slot::packed_sequences;
  explicit PackedSequences(bool rows_are_packed = true) : packed(rows_are_packed) {}

  const bool packed;

 private:
  ghost::Given<PackedSequences> given_{this};
};

/// The masks that generate() makes before a pass with a fixed cache (create_masks_for_generate):
/// while it lives, models take them instead of making their own.
class MasksForGenerate {
 public:
  static constexpr ghost::Slot kSlot = ghost::Slot::masks_for_generate;
  /// `windows`: what each layer sees, 0 for all; empty: none slides. `inputs_embeds` has sizes and
  /// a dtype only.
  MasksForGenerate(const MaskRequest& request, std::span<const std::int64_t> windows,
                   const Tensor& inputs_embeds, const Tensor& position_ids);

  Tensor full_attention, sliding_attention;

 private:
  std::optional<ghost::Given<MasksForGenerate>> given_;
};

/// create_causal_mask; `position_ids` may be undefined.
Tensor create_causal_mask(const MaskRequest& request, const Tensor& inputs_embeds,
                          const Tensor& position_ids);

/// create_sliding_window_causal_mask.
Tensor create_sliding_window_causal_mask(const MaskRequest& request, const Tensor& inputs_embeds,
                                         const Tensor& position_ids);

/// create_chunked_causal_mask, in chunks of sliding_window tokens.
Tensor create_chunked_causal_mask(const MaskRequest& request, const Tensor& inputs_embeds,
                                  const Tensor& position_ids);

/// create_bidirectional_mask; `encoder_hidden_states`, may be undefined, are what is attended to.
Tensor create_bidirectional_mask(const MaskRequest& request, const Tensor& inputs_embeds,
                                 const Tensor& encoder_hidden_states = {});

/// create_bidirectional_sliding_window_mask.
Tensor create_bidirectional_sliding_window_mask(const MaskRequest& request,
                                                const Tensor& inputs_embeds);

}  // namespace memtape::family
