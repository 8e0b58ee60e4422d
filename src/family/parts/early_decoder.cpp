// SPDX-License-Identifier: Apache-2.0
#include "family/parts/decoder_config.h"
#include "ghost/session.h"
#include "release/transformers_early_changes.h"

namespace memtape::family {

void have_early_llama(const Config& c, DecoderConfig& config) {
  if (ghost::has(changes::kLlamaSharesAngles)) return;
  EarlyDecoder& early = config.early;
  config.own_ropes = OwnRopes::asked;
  if (!ghost::has(changes::kLlamaLeavesTables))
    early.positions = c.count("max_position_embeddings", 2048);
  early.looks_up = early.counts_first = !ghost::has(changes::kLlamaComputesAngles);
  if (!ghost::has(changes::kLlamaUpdatesMasks))
    early.masks = EarlyMasks::prepared;
  else if (!ghost::has(changes::kLlamaMasksTheSequence))
    early.masks = EarlyMasks::of_all_positions;
  else if (!ghost::has(changes::kLlamaSkipsMasks))
    early.masks = EarlyMasks::of_the_sequence;
}

void have_early_mistral(const Config& c, DecoderConfig& config) {
  if (ghost::has(changes::kMistralComputesAngles)) return;
  config.own_ropes = OwnRopes::asked;
  config.early = {.positions = c.count("max_position_embeddings", 131072),
                  .looks_up = true,
                  .counts_first = true,
                  .window = config.sliding_window.value_or(0),
                  .masks = EarlyMasks::prepared};
}

void have_early_qwen2(const Config& c, DecoderConfig& config) {
  if (ghost::has(changes::kQwen2ComputesAngles)) return;
  config.own_ropes = OwnRopes::asked;
  const bool updates = ghost::has(changes::kQwen2UpdatesMasks);
  const bool reads_any = !ghost::has(changes::kQwen2ReadsWindowsInUse);
  config.early = {.positions = c.count("max_position_embeddings", 32768),
                  .looks_up = true,
                  .counts_first = !updates,
                  .window = reads_any ? c.optional_dimension("sliding_window").value_or(4096)
                                      : config.sliding_window.value_or(0),
                  .masks = updates ? EarlyMasks::none : EarlyMasks::prepared};
}

}  // namespace memtape::family
