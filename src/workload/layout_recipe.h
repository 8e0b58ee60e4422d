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

struct LayoutRecipe {
  std::int64_t gpus = 1;
  std::optional<std::int64_t> dp, zero, tp, sp, pp, vpp, cp, ep, etp;
  std::string schedule, offload;
  std::optional<std::int64_t> rank;  ///< the only rank to report
  std::string strategy;              ///< JSON; empty: every default
};

}  // namespace memtape
