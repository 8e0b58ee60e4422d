// SPDX-License-Identifier: Apache-2.0
// Ring attention (torch/distributed/tensor/experimental/_context_parallel/_attention.py): each GPU
// keeps its queries and sees the keys and values of all, one GPU's at a time. Causal steps are
// balanced: a GPU holds one early and one late stretch of the sequence, so that it needs the whole
// of its own step, half the keys of those before it, and half its queries for those after it.
//
//     step i of rank r    i = 0: q k v      i <= r: q, first half of k v     i > r: last half of q
//
// Results are merged in float32.
#pragma once

#include <cstdint>

#include "ghost/ops/attention.h"

namespace memtape::torch_cp {

/// How keys and values go round.
enum class Rotation { all_gather, all_to_all };

struct Ring {
  std::int64_t size = 1, rank = 0;
  Rotation rotation = Rotation::all_gather;
};

class RingAttention final : public ghost::AttentionInPlace {
 public:
  explicit RingAttention(const Ring& ring) : ring_(ring) {}
  ghost::Tensor attend(ghost::AttentionKernel kernel, const ghost::Tensor& query,
                       const ghost::Tensor& key, const ghost::Tensor& value,
                       const ghost::AttentionOptions& options) override;

 private:
  Ring ring_;
};

}  // namespace memtape::torch_cp
