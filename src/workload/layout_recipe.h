// SPDX-License-Identifier: Apache-2.0
// LayoutRecipe: on how many GPUs a model is trained and how they share the work, as it was asked
// for: sizes under the command line's names, which are not set if the framework decides. What a
// framework's own options (--strategy) say of it is the framework's part of the recipe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace memtape {

constexpr std::int64_t kMostGpus = std::int64_t{1} << 20;

struct LayoutRecipe {
  std::int64_t gpus = 1;  ///< if not said, as many as its axes need
  std::optional<std::int64_t> dp, zero, tp, sp, pp, vpp, cp, ep, etp;
  std::string schedule, offload;
  std::int64_t replicas =
      1;  ///< GPUs of the one process, over which nn.DataParallel spreads a batch
  std::optional<std::int64_t> rank;  ///< if set, only this rank is reported

  /// The fewest GPUs for the axes that are named: data x tensor x pipeline x context ranks. If the
  /// number of data ranks is not named, it is the smallest with which `expert_tensor` x expert x
  /// pipeline ranks fill the same GPUs. The result is at most kMostGpus + 1.
  std::int64_t fewest_gpus(std::int64_t expert_tensor) const;
};

}  // namespace memtape
