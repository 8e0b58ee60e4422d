// SPDX-License-Identifier: Apache-2.0
// What releases of torch and transformers have cost, by family, as recorded steps show it. The rows
// are generated from data/release_costs.tsv (scripts/release_costs.py, scripts/embed_data.py).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/bytes.h"
#include "release/package.h"

namespace memtape {

/// Of what a step reserves: a share of it in large steps, and bytes in small ones.
struct Cost {
  std::int32_t thousandths = 0;
  Bytes bytes = 0;

  bool is_nothing() const { return thousandths == 0 && bytes == 0; }
};

struct ReleaseCost {
  std::string_view family;
  Version release;  ///< without its third number
  std::int32_t rows = 0;
  Cost error;  ///< the largest one of the answers for these rows
  /// The largest one of answering by the rules of the family's row before this, or the other way
  /// round: what this release would have cost had nobody looked at it.
  Cost step;
};

/// Sorted by family, then by release. Empty for packages other than these two.
std::span<const ReleaseCost> release_costs(Package package);
std::span<const ReleaseCost> release_costs(Package package, std::string_view family);

/// What most steps of all families cost at most, and how many such steps there are.
const ReleaseCost& usual_cost(Package package);

/// The releases with which steps were recorded, the oldest first.
std::span<const Version> recorded_releases(Package package);

}  // namespace memtape
