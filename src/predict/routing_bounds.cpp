// SPDX-License-Identifier: Apache-2.0
#include "predict/routing_bounds.h"

#include <cstdlib>

#include "framework/dialects.h"
#include "predict/recipe_excess.h"

namespace memtape {
namespace {

bool spreads_experts(const TrainRecipe& recipe) {
  const Dialect& dialect = dialect_of(recipe);
  return dialect.depends_on_routing && dialect.depends_on_routing(recipe) &&
         recipe.layout.ep.value_or(1) > 1;
}

}  // namespace

Result<void> widen_by_routing(Bounds& bounds, const Config& config, const TrainRecipe& recipe,
                              const DeviceSetup& device, const RankReport& rank) {
  if (!spreads_experts(recipe)) return {};
  const bool is_balanced = recipe.expert_load.is_balanced();
  TrainRecipe other = recipe;
  other.expert_load = {.imbalance = is_balanced ? 2.0 : 1.0};
  const Result<Bytes> reserved = reserved_by(config, other, device, rank.ranks.front());
  if (!reserved) return tl::unexpected(reserved.error());
  const Bytes share = std::abs(*reserved - rank.peak.reserved);
  if (share == 0) return {};
  if (is_balanced) {
    bounds.high_bytes += share;
    bounds.causes.emplace_back(
        "tokens are taken to be spread evenly over the experts: the upper bound is that of a GPU "
        "that gets twice its share");
  } else {
    bounds.low_bytes -= share;
    bounds.causes.emplace_back(
        "the figures are those of the GPU that gets most tokens, the lower bound those of an even "
        "share");
  }
  return {};
}

}  // namespace memtape
