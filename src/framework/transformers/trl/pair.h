// SPDX-License-Identifier: Apache-2.0
// What trl's preference trainers have in common: batches whose first half are the chosen sequences
// and whose second half are the rejected ones, and small numbers that are gathered and logged.
#pragma once

#include <utility>
#include <vector>

#include "framework/transformers/gather.h"
#include "ghost/ops/reductions.h"
#include "ghost/session.h"
#include "ghost/tensor.h"

namespace memtape::transformers::trl {

/// chunk(2, dim=0)
struct Pair {
  Pair() = default;
  explicit Pair(const ghost::Tensor& both) {
    std::vector<ghost::Tensor> halves = both.chunk(2, 0);
    chosen = std::move(halves[0]);
    rejected = std::move(halves[1]);
  }
  ghost::Tensor chosen, rejected;
};

/// gather_for_metrics(x.sum()).sum()
inline ghost::Tensor gathered(const ghost::Tensor& sum, std::int64_t ranks) {
  return ghost::sum_all(gather(sum, ranks));
}

/// gather(x).mean().item()
inline void log_mean(const ghost::Tensor& x, std::int64_t ranks) {
  const ghost::GradMode no_grad(false);
  const ghost::Tensor mean = gather(x, ranks).mean(0);
}

}  // namespace memtape::transformers::trl
