// SPDX-License-Identifier: Apache-2.0
// Fold: blocks that are alike but for the layer they sit in, as one row. "model.layers.0.mlp",
// "model.layers.1.mlp" ... become "model.layers.*.mlp" when category, op, node, shape, dtype and
// requested bytes agree. A model of 80 layers then reads like a model of one. Invariant: every
// block given lies in exactly one fold, so sums over folds are sums over blocks.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tape/tape.h"
#include "timeline/timeline.h"

namespace memtape::report {

using PatternId = std::uint32_t;

/// Module paths with their numbers replaced by "*"; the root is pattern 0.
class PathPatterns {
 public:
  explicit PathPatterns(const ScopeTree& scopes);

  PatternId of(ScopeId scope) const { return of_scope_[scope]; }
  /// "model.layers.*.mlp"
  std::string text(PatternId pattern) const;

 private:
  struct Pattern {
    std::string name;
    PatternId parent;
  };
  std::vector<Pattern> patterns_;
  std::vector<PatternId> of_scope_;
};

struct Fold {
  PatternId pattern = 0;
  std::vector<BlockId> blocks;  ///< in the order given; the first stands for all
  Bytes requested = 0;          ///< of all together
  Bytes allocated = 0;          ///< of all together, in the allocator
};

/// The folds of `blocks`, in order of their first block.
std::vector<Fold> fold(const Tape& tape, const BlockSizes& sizes, std::span<const BlockId> blocks,
                       const PathPatterns& patterns);

/// "model.layers.0..31.mlp": the path of all the blocks' modules, the numbers that differ written
/// as ranges.
std::string path_with_ranges(const Tape& tape, const Fold& fold);

/// "14336 x 4096"; "scalar" when there are no dimensions.
std::string shape_product(const DisplayShape& shape);

}  // namespace memtape::report
