// SPDX-License-Identifier: Apache-2.0
// ExpertLoad: how a router is taken to spread tokens over experts. Balanced unless said otherwise;
// an imbalance of X means that the fullest expert gets X times the mean, while the others share the
// rest evenly. At worst every token picks the same experts. A token picks an expert at most once,
// so none gets more than there are tokens.
#pragma once

#include <cstdint>
#include <vector>

namespace memtape {

/// What a router hands out: each token picks `top_k` different ones of `experts`.
struct TokenPicks {
  std::int64_t tokens = 0, top_k = 1, experts = 1;
};

struct ExpertLoad {
  double imbalance = 1.0;  ///< tokens of the fullest expert over the mean
  bool worst = false;      ///< as far from balance as it can be

  bool is_balanced() const { return !worst && imbalance == 1.0; }
  /// Tokens by expert. The fullest comes last: it runs while what the others kept is still there.
  std::vector<std::int64_t> by_expert(const TokenPicks& picks) const;
  /// The most that `local` experts of one GPU get when all of them are as full as the fullest.
  std::int64_t of_fullest_gpu(const TokenPicks& picks, std::int64_t local) const;
};

}  // namespace memtape
