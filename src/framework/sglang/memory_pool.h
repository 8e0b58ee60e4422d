// SPDX-License-Identifier: Apache-2.0
// The pools that SGLang makes of what is left of its share (srt/mem_cache/kv_cache_configurator.py,
// srt/model_executor/pool_configurator.py): first slots for recurrent states, then keys and values
// for as many tokens as the rest can hold, and the table of each request's tokens.
#pragma once

#include <vector>

#include "framework/sglang/startup.h"

namespace memtape::sglang {

/// The bytes that one token or one request takes in the pools.
struct CellSizes {
  Bytes full = 0;     ///< for the layers whose keys and values are kept to the end
  Bytes sliding = 0;  ///< for the layers with a window, if they have their own pool
  Bytes state = 0;    ///< for the recurrent layers, for each request
};
CellSizes cell_sizes(const std::vector<vllm::KvLayer>& layers, const ServerArgs& args);

struct PoolPlan {
  CellSizes cells;
  /// What the share leaves to the pools; unless it is positive, the server does not start.
  Bytes rest = 0;
  std::int64_t tokens = 0;       ///< max_total_num_tokens
  std::int64_t swa_tokens = 0;   ///< the tokens in the pool of the layers with a window
  std::int64_t state_slots = 0;  ///< max_mamba_cache_size
  std::int64_t max_running_requests = 0;
  Bytes kv_bytes = 0, state_bytes = 0, table_bytes = 0;
  /// The numbers of free pages, and where a token lies in the other pool.
  Bytes free_list_bytes = 0;

  Bytes bytes() const { return kv_bytes + state_bytes + table_bytes + free_list_bytes; }
};

/// The pools of one rank. `available_before` bytes were free before loading and `available` bytes
/// after it.
PoolPlan plan_pools(const CellSizes& cells, const ServerArgs& args, Bytes available_before,
                    Bytes available);

/// The same with fewer tokens, because all stages have as many tokens as the stage that has fewest.
PoolPlan with_tokens(PoolPlan plan, std::int64_t tokens, const ServerArgs& args);

}  // namespace memtape::sglang
