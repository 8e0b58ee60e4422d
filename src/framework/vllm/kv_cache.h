// SPDX-License-Identifier: Apache-2.0
// The plan of the KV cache (vllm/v1/core/kv_cache_utils.py): layers of one kind form groups that
// share a pool of blocks. The plan says how many blocks the budget holds and what a request of full
// length needs.
#pragma once

#include <vector>

#include "base/result.h"
#include "framework/vllm/kv_spec.h"
#include "framework/vllm/settings.h"

namespace memtape::vllm {

struct KvGroupPlan {
  KvLayer spec{};
  std::vector<KvLayer> layers{};  ///< the layers on this rank
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

/// The groups over the layers of all pipeline stages. `stage` are the layers of the rank that is
/// asked about.
Result<std::vector<KvGroupPlan>> kv_groups(const std::vector<KvLayer>& layers,
                                           const Settings& settings);
KvPlan plan_kv_cache(std::vector<KvGroupPlan> groups, Bytes available, const Settings& settings);

}  // namespace memtape::vllm
