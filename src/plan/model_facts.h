// SPDX-License-Identifier: Apache-2.0
// ModelFacts: the sizes of a model that layouts divide. They come from the model's shape and from
// the model that was built.
#pragma once

#include <cstdint>

#include "time/built_model.h"
#include "time/model_shape.h"

namespace memtape::plan {

struct ModelFacts {
  std::int64_t parameters = 0;  ///< each counts once: a tied head is the embedding
  std::int64_t layers = 1, hidden = 1, heads = 1, kv_heads = 1;
  std::int64_t experts = 0, expert_ffn = 0, expert_layers = 0;
  bool has_latent_attention = false, has_shared_experts = false;

  /// The parameters of the routed experts.
  std::int64_t expert_parameters() const {
    return expert_layers * experts * 3 * hidden * expert_ffn;
  }
  std::int64_t shared_parameters() const { return parameters - expert_parameters(); }
};

ModelFacts model_facts(const time::ModelShape& shape, const time::BuiltModel& built);

}  // namespace memtape::plan
