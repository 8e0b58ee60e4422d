// SPDX-License-Identifier: Apache-2.0
#include "model/expert_load.h"

#include <algorithm>
#include <cmath>

namespace memtape {
namespace {

/// `part` of `whole`, as often as `times` says, to the nearest whole number and at most `most`.
std::int64_t share(double times, std::int64_t part, std::int64_t whole, std::int64_t most) {
  const double rows = times * static_cast<double>(part) / static_cast<double>(whole);
  if (rows >= static_cast<double>(most)) return most;
  return std::llround(rows);
}

}  // namespace

std::vector<std::int64_t> ExpertLoad::by_expert(const TokenPicks& p) const {
  const auto experts = static_cast<std::size_t>(p.experts);
  std::vector<std::int64_t> rows(experts, 0);
  std::int64_t rest = p.tokens * p.top_k;
  for (std::size_t left = experts; left > 0; --left) {
    const auto others = static_cast<std::int64_t>(left);
    const std::int64_t mean = (rest + others - 1) / others;  // the last ones take what is over
    const bool fullest = left == experts;
    const std::int64_t wanted =
        fullest ? share(imbalance, p.tokens * p.top_k, p.experts, p.tokens) : mean;
    rows[left - 1] = worst ? std::min(p.tokens, rest) : std::max(wanted, mean);
    rest -= rows[left - 1];
  }
  return rows;
}

std::int64_t ExpertLoad::of_fullest_gpu(const TokenPicks& p, std::int64_t local) const {
  const std::int64_t most = p.tokens * std::min(p.top_k, local);
  return worst ? most : share(imbalance, p.tokens * p.top_k * local, p.experts, most);
}

}  // namespace memtape
