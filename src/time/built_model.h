// SPDX-License-Identifier: Apache-2.0
// BuiltModel: the sizes that can be read off the modules of transformers' own model, which knows
// the defaults of its families: which modules share a matrix, how large each layer's matrices are,
// and with which heads it calls attention when a few tokens go through it. A matrix counts once,
// however many names it has.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "family/parts/attention_calls.h"
#include "family/task.h"
#include "model/config.h"
#include "release/release.h"

namespace memtape::time {

struct BuiltLayer {
  std::int64_t matrices = 0;  ///< the elements of all matrices, without norms and biases
  /// Empty if the layer calls no attention function, or if its family has attention written out.
  std::optional<family::AttentionSizes> attention;
};

struct BuiltModel {
  std::int64_t parameters = 0;
  bool has_own_head = false;  ///< there is a matrix beside the embedding that gives tokens
  /// There is one list for each stack of layers: a vision tower has its own, apart from the text's.
  std::vector<std::vector<BuiltLayer>> stacks;
  /// The tokens that each token of a layer sees, 0 for all before it; empty if no layer slides.
  std::vector<std::int64_t> windows;

  /// The stack with that many layers, or null if there is none. Of several it is the last: towers
  /// for images come before the text.
  const std::vector<BuiltLayer>* stack_of(std::int64_t layers) const;
};

/// An Error if memtape does not build the family, or if the configuration lacks something. `config`
/// keeps no record of what was missing.
Result<BuiltModel> built_model(const Config& config, family::Task task, const Release& release);
/// Builds the model with the family's own head.
Result<BuiltModel> built_model(const Config& config);

}  // namespace memtape::time
