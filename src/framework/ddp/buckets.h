// SPDX-License-Identifier: Apache-2.0
// Buckets: which tensors are communicated together. A tensor joins the open bucket of its dtype,
// which is closed when it holds `limit` bytes or more. The first bucket of a dtype may have its own
// limit (compute_bucket_assignment_by_size of torch/csrc/distributed/c10d/reducer.cpp).
#pragma once

#include <cstddef>
#include <vector>

#include "base/bytes.h"
#include "ghost/tensor.h"

namespace memtape::ddp {

using Places = std::vector<std::size_t>;

struct BucketLimits {
  Bytes first = 0;
  Bytes others = 0;
};

/// The places of `tensors` by bucket, in the order in which the buckets are closed. Buckets that
/// are left open come last.
std::vector<Places> buckets_by_size(const std::vector<ghost::Tensor>& tensors,
                                    const BucketLimits& limits);

/// The same, ordered by the first place in each bucket.
std::vector<Places> ordered_buckets_by_size(const std::vector<ghost::Tensor>& tensors,
                                            const BucketLimits& limits);

}  // namespace memtape::ddp
