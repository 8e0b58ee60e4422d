// SPDX-License-Identifier: Apache-2.0
#include "plan/model_facts.h"

#include <algorithm>

namespace memtape::plan {
namespace {

using Kind = time::AttentionShape::Kind;

/// The attention whose heads tensor parallel ranks divide: of the first layer that has heads.
const time::AttentionShape& attention_of(const time::ModelShape& shape) {
  const auto found = std::ranges::find_if(shape.layers, [](const time::LayerShape& layer) {
    return layer.attention.kind == Kind::multi_head || layer.attention.kind == Kind::latent;
  });
  return (found == shape.layers.end() ? shape.layers.front() : *found).attention;
}

}  // namespace

ModelFacts model_facts(const time::ModelShape& shape, const time::BuiltModel& built) {
  const time::AttentionShape& attention = attention_of(shape);
  ModelFacts facts{.parameters = built.parameters,
                   .layers = shape.layer_count(),
                   .hidden = shape.hidden,
                   .heads = attention.heads,
                   .kv_heads = attention.kv_heads};
  for (const time::LayerShape& layer : shape.layers) {
    if (layer.attention.kind == Kind::latent) facts.has_latent_attention = true;
    if (layer.mlp.is_mixture() && layer.mlp.shared_width > 0) facts.has_shared_experts = true;
    if (!layer.mlp.is_mixture()) continue;
    facts.experts = layer.mlp.experts;
    facts.expert_ffn = layer.mlp.expert_width;
    facts.expert_layers += layer.count;
  }
  return facts;
}

}  // namespace memtape::plan
