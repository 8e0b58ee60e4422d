// SPDX-License-Identifier: Apache-2.0
#include "framework/sglang/memory_pool.h"

#include <algorithm>

namespace memtape::sglang {
namespace {

using vllm::KvKind;
using vllm::KvLayer;

std::int64_t round_down(std::int64_t value, std::int64_t unit) { return value / unit * unit; }

/// _calculate_mamba_ratio: states that a running request may need while the tree keeps others.
std::int64_t states_per_request(const ServerArgs& args) {
  if (!args.radix_cache || args.states_by_request) return 1;
  return args.tracks_states ? 5 : 3;
}

/// _handle_max_mamba_cache: the states take their part of the rest, one slot of it is padding.
void take_states(PoolPlan& plan, const ServerArgs& args) {
  const Bytes slot = plan.cells.state;
  if (slot == 0) return;
  const double ratio = args.mamba_full_memory_ratio;
  const auto budget = static_cast<Bytes>(static_cast<double>(plan.rest) * ratio / (1 + ratio));
  if (args.max_mamba_cache_size)
    plan.state_slots = *args.max_mamba_cache_size;
  else if (!args.radix_cache && args.max_running_requests)
    plan.state_slots = *args.max_running_requests;
  else
    plan.state_slots = std::max<Bytes>(0, (budget - slot) / slot);
  plan.state_bytes = (plan.state_slots + 1) * slot;
  plan.rest -= plan.state_bytes;
}

/// resolve_max_num_reqs.
std::int64_t running_requests(const PoolPlan& plan, const ServerArgs& args) {
  constexpr std::int64_t kLeast = 2048, kMost = 4096;
  constexpr double kPerContext = 512;
  const auto estimated = static_cast<std::int64_t>(
      static_cast<double>(plan.tokens) / static_cast<double>(args.context_length) * kPerContext);
  std::int64_t requests = args.max_running_requests.value_or(std::clamp(estimated, kLeast, kMost));
  requests = std::min(requests, plan.tokens / 2);
  if (plan.cells.state > 0)
    requests = std::min(requests, plan.state_slots / states_per_request(args));
  return std::max<std::int64_t>(0, requests);
}

}  // namespace

CellSizes cell_sizes(const std::vector<KvLayer>& layers, const ServerArgs& args) {
  CellSizes cells;
  for (const KvLayer& layer : layers) {
    const bool slides = layer.kind == KvKind::sliding_window || layer.kind == KvKind::chunked_local;
    if (layer.kind == KvKind::mamba)
      cells.state += layer.state_bytes;
    else if (slides && args.hybrid_swa)
      cells.sliding += layer.bytes_per_token();
    else
      cells.full += layer.bytes_per_token();
  }
  return cells;
}

PoolPlan with_tokens(PoolPlan plan, std::int64_t tokens, const ServerArgs& args) {
  constexpr Bytes kIndex = 4, kFreePage = 8;  // int32, int64
  constexpr std::int64_t kExtraContext = 4;
  const std::int64_t page = args.page_size;
  plan.tokens = round_down(std::max<std::int64_t>(0, tokens), page);
  const bool has_window_pool = plan.cells.sliding > 0;
  const double ratio = plan.cells.full > 0 ? args.swa_full_tokens_ratio : 1.0;
  if (has_window_pool)
    plan.swa_tokens = args.swa_tokens.value_or(
        round_down(static_cast<std::int64_t>(static_cast<double>(plan.tokens) * ratio), page));
  // Slot 0 of every pool takes the writes of padding, so that a page more is allocated.
  plan.kv_bytes = plan.tokens > 0 ? (plan.tokens + page) * plan.cells.full : 0;
  if (has_window_pool && plan.tokens > 0)
    plan.kv_bytes += (plan.swa_tokens + page) * plan.cells.sliding;
  // free_pages of the allocators (mem_cache/allocator/token.py, paged.py).
  plan.free_list_bytes = (plan.tokens + plan.swa_tokens) / page * kFreePage;
  // full_to_swa_index_mapping (swa.py): a slot of the sliding pool for each of the other.
  if (has_window_pool && plan.tokens > 0)
    plan.free_list_bytes += (plan.tokens + page + 1) * kFreePage;
  plan.max_running_requests = running_requests(plan, args);
  plan.table_bytes =
      (plan.max_running_requests + 1) * (args.context_length + kExtraContext) * kIndex;
  return plan;
}

PoolPlan plan_pools(const CellSizes& cells, const ServerArgs& args, Bytes available_before,
                    Bytes available) {
  PoolPlan plan;
  plan.cells = cells;
  const auto slack =
      static_cast<Bytes>(static_cast<double>(available_before) * (1 - args.mem_fraction_static));
  plan.rest = available - slack;
  if (plan.rest <= 0) return plan;
  take_states(plan, args);
  plan.rest -= args.swa_tokens.value_or(0) * cells.sliding;
  const double ratio = args.swa_tokens ? 0 : cells.full > 0 ? args.swa_full_tokens_ratio : 1.0;
  const double cell = static_cast<double>(cells.full) + ratio * static_cast<double>(cells.sliding);
  std::int64_t tokens = cell > 0 ? static_cast<std::int64_t>(static_cast<double>(plan.rest) / cell)
                                 : args.max_total_tokens.value_or(args.context_length);
  if (args.max_total_tokens) tokens = std::min(tokens, *args.max_total_tokens);
  return with_tokens(plan, tokens, args);
}

}  // namespace memtape::sglang
