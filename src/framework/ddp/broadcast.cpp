// SPDX-License-Identifier: Apache-2.0
#include "framework/ddp/broadcast.h"

#include <utility>

#include "framework/ddp/buckets.h"
#include "ghost/autograd/node.h"
#include "ghost/ops/joins.h"

namespace memtape::ddp {
namespace {

using ghost::Tensor;

constexpr Bytes kBroadcastBucket = 250 * 1024 * 1024;

}  // namespace

void broadcast_coalesced(const std::vector<Tensor>& tensors) {
  Tensor before;
  for (const Places& bucket :
       ordered_buckets_by_size(tensors, {kBroadcastBucket, kBroadcastBucket})) {
    const ghost::GradMode no_grad(false);
    if (bucket.size() == 1) {  // goes as it is
      before = tensors[bucket.front()];
      continue;
    }
    std::vector<Tensor> flat;
    for (std::size_t place : bucket) flat.push_back(tensors[place].view({-1}));
    Tensor joined = ghost::cat(flat, 0);
    before = std::move(joined);
  }
}

}  // namespace memtape::ddp
