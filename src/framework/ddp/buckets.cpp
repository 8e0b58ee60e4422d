// SPDX-License-Identifier: Apache-2.0
#include "framework/ddp/buckets.h"

#include <algorithm>
#include <utility>

namespace memtape::ddp {
namespace {

struct OpenBucket {
  DType dtype;
  Places places;
  Bytes size = 0;
  bool is_first = true;
};

OpenBucket& open_bucket(std::vector<OpenBucket>& open, DType dtype) {
  for (OpenBucket& bucket : open)
    if (bucket.dtype == dtype) return bucket;
  return open.emplace_back(OpenBucket{.dtype = dtype, .places = {}});
}

}  // namespace

std::vector<Places> buckets_by_size(const std::vector<ghost::Tensor>& tensors,
                                    const BucketLimits& limits) {
  std::vector<Places> closed;
  std::vector<OpenBucket> open;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    OpenBucket& bucket = open_bucket(open, tensors[i].dtype());
    bucket.places.push_back(i);
    bucket.size += tensors[i].nbytes();
    if (bucket.size < (bucket.is_first ? limits.first : limits.others)) continue;
    closed.push_back(std::exchange(bucket.places, {}));
    bucket.size = 0;
    bucket.is_first = false;
  }
  for (OpenBucket& bucket : open)
    if (!bucket.places.empty()) closed.push_back(std::move(bucket.places));
  return closed;
}

std::vector<Places> ordered_buckets_by_size(const std::vector<ghost::Tensor>& tensors,
                                            const BucketLimits& limits) {
  std::vector<Places> buckets = buckets_by_size(tensors, limits);
  std::sort(buckets.begin(), buckets.end(),
            [](const Places& a, const Places& b) { return a.front() < b.front(); });
  return buckets;
}

}  // namespace memtape::ddp
