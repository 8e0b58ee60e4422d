// SPDX-License-Identifier: Apache-2.0
// Attention masks as transformers' masking_utils.py builds them. If sdpa's is_causal or no mask at
// all suffices, there is none. Otherwise sdpa gets one bool mask [B, 1, S, S], and eager attention
// an additive one in the model's dtype.
#pragma once

#include <optional>
#include <span>

#include "family/pretrained.h"
#include "ghost/given.h"
#include "release/transformers_changes.h"

namespace memtape::family {

struct MaskRequest {
  AttentionImplementation attention = AttentionImplementation::sdpa;
  Tensor attention_mask;             ///< [B, Skv] of the tokenizer, may be undefined
  std::int64_t sliding_window = 0;   ///< how many tokens a query sees in a sliding layer
  bool has_padding = false;          ///< attention_mask hides some token
  bool allow_is_causal_skip = true;  ///< false: a causal mask is made even if sdpa does not need it
  const Change& shared_since =
      changes::kMasksAreShared;    ///< since then masking_utils.py makes the model's masks
  bool vmaps_with_true = false;    ///< torch.vmap joins a function to it that is true everywhere
  Tensor block_sequence_ids = {};  ///< [B, S], where blocks of images are laid over a mask
  bool one_more_key =
      true;  ///< before that, its own mask had one column too many (except Falcon's)
};

/// While this lives, each row counts as several packed sequences: find_packed_sequence_indices
/// finds them, and a mask is made that keeps them apart.
class PackedSequences {
 public:
  static constexpr ghost::Slot kSlot = ghost::Slot::packed_sequences;
  explicit PackedSequences(bool rows_are_packed = true) : packed(rows_are_packed) {}

  const bool packed;

 private:
  ghost::Given<PackedSequences> given_{this};
};

/// The masks that generate() makes before a pass with a fixed cache (create_masks_for_generate).
/// While this lives, models use these masks and make none.
class MasksForGenerate {
 public:
  static constexpr ghost::Slot kSlot = ghost::Slot::masks_for_generate;
  /// `windows` holds the window of each layer, 0 for full attention; it is empty if no layer
  /// slides. Only the sizes and the dtype of `inputs_embeds` are used.
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

/// create_bidirectional_mask. If `encoder_hidden_states` is defined, the queries attend to it.
Tensor create_bidirectional_mask(const MaskRequest& request, const Tensor& inputs_embeds,
                                 const Tensor& encoder_hidden_states = {});

/// create_bidirectional_sliding_window_mask.
Tensor create_bidirectional_sliding_window_mask(const MaskRequest& request,
                                                const Tensor& inputs_embeds);

}  // namespace memtape::family
