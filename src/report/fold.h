// SPDX-License-Identifier: Apache-2.0
// Fold: one row for blocks that differ only in the layer they belong to. "model.layers.0.mlp",
// "model.layers.1.mlp" ... become "model.layers.*.mlp" if category, op, node, shape, dtype and
// requested bytes agree, so that a model of 80 layers reads like a model of one. Invariant: every
// given block lies in exactly one fold, so sums over folds are sums over blocks.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tape/tape.h"
#include "timeline/timeline.h"

namespace memtape::report {

using PatternId = std::uint32_t;

/// The paths of modules with their numbers replaced by "*". The root is pattern 0.
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
  std::vector<BlockId> blocks;  ///< in the order given; the first one represents all
  Bytes requested = 0;          ///< the sum over all blocks
  Bytes allocated = 0;          ///< the sum over all blocks of their sizes in the allocator
};

/// The folds of `blocks`, in order of their first block.
std::vector<Fold> fold(const Tape& tape, const BlockSizes& sizes, std::span<const BlockId> blocks,
                       const PathPatterns& patterns);

/// The path of the modules of all blocks, with the numbers that differ written as ranges:
/// "model.layers.0..31.mlp".
std::string path_with_ranges(const Tape& tape, const Fold& fold);

/// "14336 x 4096"; it is "scalar" if there are no dimensions.
std::string shape_product(const DisplayShape& shape);

}  // namespace memtape::report
