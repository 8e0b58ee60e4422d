// SPDX-License-Identifier: Apache-2.0
// Ring attention (torch/distributed/tensor/experimental/_context_parallel/_attention.py): each GPU
// keeps its queries and sees the keys and values of all GPUs, those of one GPU at a time. Causal
// steps are balanced: a GPU holds one early and one late part of the sequence, so that it needs
// everything in its own step, half of the keys of the GPUs before it, and half of its queries for
// the GPUs after it.
//
//     step i of rank r    i = 0: q k v      i <= r: q, first half of k v     i > r: last half of q
//
// Results are merged in float32.
#pragma once

#include <cstdint>

#include "ghost/ops/attention.h"

namespace memtape::torch_cp {

/// How keys and values go around.
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
