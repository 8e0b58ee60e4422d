// SPDX-License-Identifier: Apache-2.0
// Rotary embedding for positions in time, height and width (M-RoPE). The frequencies of each head
// are divided among the three, in sections (Qwen2-VL; in GLM-4.1V each twice in a row) or in turn
// (Qwen3-VL). Mirrors transformers 5.17 models/qwen2_vl/modeling_qwen2_vl.py,
// models/glm4v/modeling_glm4v.py and models/qwen3_vl/modeling_qwen3_vl.py.
#pragma once

#include "family/parts/decoder.h"
#include "family/parts/rope.h"

namespace memtape::family {

class MultimodalRotaryEmbedding : public nn::Module<MultimodalRotaryEmbedding> {
 public:
  /// Before the embedding did it, the attentions of `late_sections` joined their sections.
  enum class Layout { sections, late_sections, paired_sections, interleaved };
  MultimodalRotaryEmbedding(const nn::Scope& scope, const RopeParameters& rope, Layout layout);
  /// Returns cos and sin [B, S, dim] in x's dtype for positions [3, B, S].
  CosSin forward(const Tensor& x, const Tensor& position_ids);
  void init_weights() const { frequencies_.init_weights(); }

 private:
  CosSin of_axes(const Tensor& x, Tensor& freqs) const;
  Tensor recomposition_frequencies(const Tensor& freq) const;

  RotaryEmbedding frequencies_;
  Layout layout_;
};

struct SectionedRotaryEmbedding : MultimodalRotaryEmbedding {
  SectionedRotaryEmbedding(const nn::Scope& scope, const RopeParameters& rope)
      : MultimodalRotaryEmbedding(scope, rope, Layout::sections) {}
};

struct LateSectionsRotaryEmbedding : MultimodalRotaryEmbedding {
  LateSectionsRotaryEmbedding(const nn::Scope& scope, const RopeParameters& rope)
      : MultimodalRotaryEmbedding(scope, rope, Layout::late_sections) {}
};

struct PairedSectionsRotaryEmbedding : MultimodalRotaryEmbedding {
  PairedSectionsRotaryEmbedding(const nn::Scope& scope, const RopeParameters& rope)
      : MultimodalRotaryEmbedding(scope, rope, Layout::paired_sections) {}
};

struct InterleavedRotaryEmbedding : MultimodalRotaryEmbedding {
  InterleavedRotaryEmbedding(const nn::Scope& scope, const RopeParameters& rope)
      : MultimodalRotaryEmbedding(scope, rope, Layout::interleaved) {}
};

/// cos or sin of all three axes, their sections joined: what each attention did before rotary
/// embeddings did it.
Tensor joined_sections(const Tensor& of_axes);

/// The positions of text, repeated for `axes` axes.
Tensor expanded_positions(const Tensor& inputs_embeds, std::int64_t axes);

/// Positions on four axes, of which the first is the text's own (Qwen3-VL and later).
Positions text_and_axes_positions(const Tensor& inputs_embeds);

}  // namespace memtape::family
