// SPDX-License-Identifier: Apache-2.0
// ModelFacts: the sizes of a model that layouts divide and time goes by.
#pragma once

#include <cstdint>
#include <string>

#include "model/config.h"
#include "workload/train_recipe.h"

namespace memtape::plan {

struct ModelFacts {
  std::string family;
  std::int64_t layers = 1, hidden = 1, heads = 1, kv_heads = 1, head_dim = 1, ffn = 1, vocab = 1;
  std::int64_t experts = 0, experts_per_token = 0, expert_ffn = 0, expert_layers = 0;
  std::int64_t parameters = 0;  ///< each once

  /// Of routed experts alone.
  std::int64_t expert_parameters() const {
    return expert_layers * experts * 3 * hidden * expert_ffn;
  }
  std::int64_t shared_parameters() const { return parameters - expert_parameters(); }
};

Result<ModelFacts> model_facts(const Config& config, const TrainRecipe& recipe);

}  // namespace memtape::plan
