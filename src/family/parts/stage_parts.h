// SPDX-License-Identifier: Apache-2.0
// StageParts: a model as a pipeline cuts it: runs of its layers, the embedding before the first and
// the norm and head after the last. Every stage has the rotary embedding, which holds no
// parameters.
#pragma once

#include <cstdint>
#include <vector>

#include "nn/layers.h"

namespace memtape::family {

/// What of the model one stage holds.
struct StageRange {
  std::int64_t first_layer = 0, end_layer = 0;
  bool embeds = false;    ///< begins with the embedding: its input are tokens
  bool has_head = false;  ///< ends with norm and head: its output are logits
};

class StageParts {
 public:
  virtual ~StageParts() = default;
  /// Whether the family's body is a plain stack of layers.
  virtual bool can_be_cut() const = 0;
  virtual std::int64_t layers() const = 0;
  virtual nn::Linear& head() = 0;
  virtual const nn::Embedding* embedding() const = 0;
  /// The modules of a part, in the order in which a stage registers them.
  virtual std::vector<const nn::ModuleNode*> modules(const StageRange& range) = 0;
  virtual ghost::Tensor forward(const StageRange& range, const ghost::Tensor& input) = 0;
};

}  // namespace memtape::family
