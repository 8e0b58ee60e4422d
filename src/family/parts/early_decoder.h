// SPDX-License-Identifier: Apache-2.0
// EarlyDecoder: in what Llama, Mistral and Qwen2 differed before transformers 4.45. Each attention
// held tables of cos and sin for all positions that the model was made for, and masks were made in
// three ways.
#pragma once

#include <cstdint>

namespace memtape::family {

enum class EarlyMasks {
  none,              ///< as in 4.45
  prepared,          ///< _prepare_4d_causal_attention_mask_for_sdpa
  of_the_sequence,   ///< Llama's of 4.39: a mask in any case
  of_all_positions,  ///< Llama's of 4.38: of a buffer of all positions; attentions pick their rows
};

struct EarlyDecoder {
  std::int64_t positions = 0;  ///< that the tables, or the buffer of 4.38, hold; 0: there are none
  bool looks_up = false;       ///< attentions read their tables in place of computing cos and sin
  bool counts_first = false;   ///< positions are counted before tokens are embedded
  std::int64_t window = 0;     ///< of prepared masks; 0: they heed none
  EarlyMasks masks = EarlyMasks::none;
};

}  // namespace memtape::family
