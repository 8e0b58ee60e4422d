// SPDX-License-Identifier: Apache-2.0
// BuiltModel: the sizes that can be read off the modules of transformers' own model, which knows
// the defaults of its families: which modules share a matrix, and how large each layer's matrices
// are. A matrix counts once, however many names it has.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "family/task.h"
#include "model/config.h"
#include "release/release.h"

namespace memtape::time {

struct BuiltModel {
  std::int64_t parameters = 0;
  bool has_own_head = false;  ///< there is a matrix beside the embedding that gives tokens
  /// The elements of each layer's matrices, without norms and biases. There is one list for each
  /// stack of layers: a vision tower has its own, apart from the text's.
  std::vector<std::vector<std::int64_t>> stacks;

  /// The stack with that many layers, or null if there is none.
  const std::vector<std::int64_t>* stack_of(std::int64_t layers) const;
};

/// An Error if memtape does not build the family, or if the configuration lacks something. `config`
/// keeps no record of what was missing.
Result<BuiltModel> built_model(const Config& config, family::Task task, const Release& release);
/// Builds the model with the first head that the family has.
Result<BuiltModel> built_model(const Config& config);

}  // namespace memtape::time
