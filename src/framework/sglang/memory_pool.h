// SPDX-License-Identifier: Apache-2.0
// The pools that SGLang makes of what is left of its share (srt/mem_cache/kv_cache_configurator.py,
// srt/model_executor/pool_configurator.py): slots of recurrent states first, then keys and values
// of as many tokens as the rest holds, and the table of each request's tokens.
#pragma once

#include <vector>

#include "framework/sglang/startup.h"

namespace memtape::sglang {

/// Bytes that one token, or one request, takes of the pools.
struct CellSizes {
  Bytes full = 0;     ///< of the layers whose keys and values last
  Bytes sliding = 0;  ///< of the layers with a window, where they have a pool of their own
  Bytes state = 0;    ///< of the recurrent layers, per request
};
CellSizes cell_sizes(const std::vector<vllm::KvLayer>& layers, const ServerArgs& args);

struct PoolPlan {
  CellSizes cells;
  Bytes rest = 0;                ///< of the share, for the pools; not positive: it does not start
  std::int64_t tokens = 0;       ///< max_total_num_tokens
  std::int64_t swa_tokens = 0;   ///< of the pool of sliding layers
  std::int64_t state_slots = 0;  ///< max_mamba_cache_size
  std::int64_t max_running_requests = 0;
  Bytes kv_bytes = 0, state_bytes = 0, table_bytes = 0;
  Bytes free_list_bytes = 0;  ///< numbers of free pages, and where a token lies in the other pool

  Bytes bytes() const { return kv_bytes + state_bytes + table_bytes + free_list_bytes; }
};

/// The pools of one rank, of which `available_before` was free before and `available` after
/// loading.
PoolPlan plan_pools(const CellSizes& cells, const ServerArgs& args, Bytes available_before,
                    Bytes available);

/// The same with fewer tokens: all stages have as many as the one that has fewest.
PoolPlan with_tokens(PoolPlan plan, std::int64_t tokens, const ServerArgs& args);

}  // namespace memtape::sglang
