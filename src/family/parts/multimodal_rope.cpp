// SPDX-License-Identifier: Apache-2.0
#include "family/parts/multimodal_rope.h"

#include "ghost/autocast.h"
#include "ghost/ops/copies.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/unary.h"
#include "ghost/session.h"
#include "release/multimodal_changes.h"
#include "release/transformers_4_changes.h"
#include "release/transformers_changes.h"

namespace memtape::family {

MultimodalRotaryEmbedding::MultimodalRotaryEmbedding(const nn::Scope& scope,
                                                     const RopeParameters& rope, Layout layout)
    : Module(scope), frequencies_(scope, rope), layout_(layout) {}

/// cos and sin of the frequencies of all three axes, or of those that were woven into the first's.
CosSin MultimodalRotaryEmbedding::of_axes(const Tensor& x, Tensor& freqs) const {
  Tensor emb, cos, sin;
  {
    const ghost::AutocastContext no_autocast(false, DType::float32);
    if (layout_ == Layout::interleaved) freqs = freqs.select(0, 0);
    if (layout_ == Layout::sections || layout_ == Layout::paired_sections)
      freqs = joined_sections(freqs);
    emb = ghost::cat({freqs, freqs}, -1);
    const bool in_turn = ghost::has(changes::kAnglesAreScaledInTurn);
    cos = ghost::cos(emb);
    if (in_turn) cos = cos.mul(ghost::kScale);
    sin = ghost::sin(emb);
    if (!in_turn) cos = cos.mul(ghost::kScale);
    sin = sin.mul(ghost::kScale);
  }
  Tensor cos_cast = cos.to(x.dtype());
  return {std::move(cos_cast), sin.to(x.dtype())};
}

CosSin MultimodalRotaryEmbedding::forward(const Tensor& x, const Tensor& position_ids) {
  const ghost::GradMode no_grad(false);
  frequencies_.update_frequencies(position_ids);
  RotaryAngles angles;
  Tensor cos, sin;
  {
    const ghost::AutocastContext no_autocast(false, DType::float32);
    angles = rotary_angles(position_ids, frequencies_.inv_freq());
  }
  if (!ghost::has(changes::kRopesRecomposeFrequencies)) return of_axes(x, angles.freqs);
  {
    const ghost::AutocastContext no_autocast(false, DType::float32);
    cos = ghost::cos(angles.freqs).mul(ghost::kScale);
    sin = ghost::sin(angles.freqs).mul(ghost::kScale);
  }
  sin = recomposition_frequencies(sin);
  cos = recomposition_frequencies(cos);
  Tensor cos_cast = cos.to(x.dtype());
  return {std::move(cos_cast), sin.to(x.dtype())};
}

/// By sections the frequencies of each axis are cut out and joined; in turn those of height and
/// width are copied over those of time.
Tensor MultimodalRotaryEmbedding::recomposition_frequencies(const Tensor& freq) const {
  const Tensor of_time = freq.select(0, 0);
  if (layout_ == Layout::interleaved) return ghost::cat({of_time, of_time}, -1);
  const Tensor joined = ghost::empty(of_time.sizes(), of_time.dtype());
  if (layout_ == Layout::paired_sections) return ghost::repeat_interleave(joined, 2, -1);
  return ghost::cat({joined, joined}, -1);
}

Tensor joined_sections(const Tensor& of_axes) {
  const ghost::Op op("cat", {});
  return ghost::empty(of_axes.select(0, 0).sizes(), of_axes.dtype());
}

Tensor expanded_positions(const Tensor& inputs_embeds, std::int64_t axes) {
  return position_ids_for(inputs_embeds)
      .squeeze(0)
      .view({1, 1, -1})
      .expand({axes, inputs_embeds.size(0), -1});
}

Positions text_and_axes_positions(const Tensor& inputs_embeds) {
  const Tensor all = expanded_positions(inputs_embeds, 4);
  return {all.select(0, 0), all.slice(0, 1, 4)};
}

}  // namespace memtape::family
