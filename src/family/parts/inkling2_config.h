// SPDX-License-Identifier: Apache-2.0
// The settings of Inkling 2 and of its variant that runs its middle layers several times, mirroring
// transformers 5.24 models/inkling2/configuration_inkling2.py and
// models/inkling2_loop/configuration_inkling2_loop.py.
#pragma once

#include <optional>

#include "family/parts/experts.h"

namespace memtape::family {

struct Inkling2Heads {
  std::int64_t query, key_value, dim;
};

/// Which layers run several times, the later passes with messages of the one before.
struct Inkling2Loop {
  std::int64_t start, end, passes, gate_rank;
};

struct Inkling2Config : MoeConfig {
  static Inkling2Config of_text(const Config& c, const ModelOptions& options);
  static Inkling2Config of_loop(const Config& c, const ModelOptions& options);

  bool slides(std::int64_t layer) const {
    return layer_type(layer) == LayerType::sliding_attention;
  }
  const Inkling2Heads& heads_of(std::int64_t layer) const {
    return slides(layer) ? sliding_heads : full_heads;
  }
  /// The layer begins a block, whose sum is a source of the attention residuals.
  bool begins_block(std::int64_t layer) const { return layer % layers_per_block == 0; }
  bool is_looped(std::int64_t layer) const {
    return loop && loop->start <= layer && layer < loop->end;
  }

  std::int64_t conv_kernel, d_rel, rel_extent, layers_per_block, unpadded_vocab_size;
  Inkling2Heads full_heads, sliding_heads;
  nn::Activation score_fn;
  std::optional<Inkling2Loop> loop;

 private:
  Inkling2Config(const Config& c, const ModelOptions& options, const DecoderDefaults& defaults,
                 const MoeDefaults& moe);
};

}  // namespace memtape::family
