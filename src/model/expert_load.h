// SPDX-License-Identifier: Apache-2.0
// ExpertLoad: how a router is assumed to spread tokens over experts. The load is balanced unless
// something else is said. An imbalance of X means that the fullest expert gets X times the mean,
// while the others share the rest evenly. In the worst case every token picks the same experts. A
// token picks an expert at most once, so no expert gets more tokens than there are.
#pragma once

#include <cstdint>
#include <vector>

namespace memtape {

/// What a router hands out: each token picks `top_k` different experts out of `experts`.
struct TokenPicks {
  std::int64_t tokens = 0, top_k = 1, experts = 1;
};

struct ExpertLoad {
  double imbalance = 1.0;  ///< the tokens of the fullest expert divided by the mean
  bool worst = false;      ///< the load is as far from balance as it can be

  bool is_balanced() const { return !worst && imbalance == 1.0; }
  /// The tokens of each expert. The fullest one is last: it runs while what the others kept still
  /// exists.
  std::vector<std::int64_t> by_expert(const TokenPicks& picks) const;
  /// The most tokens that the `local` experts of one GPU get, if all of them are as full as the
  /// fullest.
  std::int64_t of_fullest_gpu(const TokenPicks& picks, std::int64_t local) const;
};

}  // namespace memtape
