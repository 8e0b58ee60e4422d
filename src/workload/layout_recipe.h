// SPDX-License-Identifier: Apache-2.0
// LayoutRecipe: on how many GPUs a model is trained and how they share the work, as asked for:
// sizes by the command line's names, none where the framework decides, and the framework's own
// options as the JSON that was typed. Each dialect under src/framework reads what it knows and
// refuses the rest.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace memtape {

constexpr std::int64_t kMostGpus = std::int64_t{1} << 20;

struct LayoutRecipe {
  std::int64_t gpus = 1;  ///< not said: as many as its axes take
  std::optional<std::int64_t> dp, zero, tp, sp, pp, vpp, cp, ep, etp;
  std::string schedule, offload;
  std::optional<std::int64_t> rank;  ///< the only rank to report
  std::string strategy;              ///< JSON; empty: every default

  /// The fewest GPUs with the axes that are named: data x tensor x pipeline x context ranks, where
  /// no number of data ranks is named as many times as lets experts fill the same GPUs by
  /// `expert_tensor` x expert x pipeline ranks. At most kMostGpus + 1.
  std::int64_t fewest_gpus(std::int64_t expert_tensor) const;
};

}  // namespace memtape
