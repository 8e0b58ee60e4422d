// SPDX-License-Identifier: Apache-2.0
// BuiltModel: the sizes that can be read off the modules of transformers' own model, which knows
// its families' defaults: what shares a matrix with what, and how large each layer's matrices are.
// A matrix counts once, however many names it has.
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
  bool has_own_head = false;  ///< a matrix beside the embedding that gives tokens
  /// Elements of each layer's matrices, norms and biases left out; one list for each stack of
  /// layers (a vision tower's are apart from the text's).
  std::vector<std::vector<std::int64_t>> stacks;

  /// The stack of that many layers; null where there is none.
  const std::vector<std::int64_t>* stack_of(std::int64_t layers) const;
};

/// An Error where memtape builds no such family, or the configuration lacks something. `config`
/// keeps no record of what was missing.
Result<BuiltModel> built_model(const Config& config, family::Task task, const Release& release);
/// With the first head that the family has.
Result<BuiltModel> built_model(const Config& config);

}  // namespace memtape::time
