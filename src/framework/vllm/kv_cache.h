// SPDX-License-Identifier: Apache-2.0
// The KV cache's plan (vllm/v1/core/kv_cache_utils.py): layers of one kind in groups that share a
// pool of blocks, the blocks that the budget holds, and what a request of the full length needs.
#pragma once

#include <vector>

#include "base/result.h"
#include "framework/vllm/kv_spec.h"
#include "framework/vllm/settings.h"

namespace memtape::vllm {

struct KvGroupPlan {
  KvLayer spec{};
  std::vector<KvLayer> layers{};  ///< on this rank
  std::int64_t blocks_per_request = 0;
};

struct KvPlan {
  std::vector<KvGroupPlan> groups{};
  Bytes bytes_per_block = 0;
  std::int64_t num_blocks = 0;
  double max_concurrency = 0;
  std::int64_t tokens = 0;
  Bytes needed = 0;  ///< for one request of max_model_len
  Bytes bytes() const { return bytes_per_block * num_blocks; }
};

/// Groups over all pipeline stages' layers; `stage` gives the layers of the rank asked about.
Result<std::vector<KvGroupPlan>> kv_groups(const std::vector<KvLayer>& layers,
                                           const Settings& settings);
KvPlan plan_kv_cache(std::vector<KvGroupPlan> groups, Bytes available, const Settings& settings);

}  // namespace memtape::vllm
