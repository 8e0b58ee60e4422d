// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/kv_cache.h"

#include <algorithm>
#include <map>
#include <optional>

#include "framework/vllm/ops.h"

namespace memtape::vllm {
namespace {

/// max_in_flight_tokens: two batches where scheduling runs ahead of the device; older releases count
/// one batch.
std::int64_t tokens_in_flight(const Settings& s) {
  if (!s.release.has(changes::kVllmCountsTokensInFlight)) return s.max_num_batched_tokens;
  return s.max_num_batched_tokens * (s.async_scheduling ? 2 : 1) *
         (s.parallel.pp > 1 && !s.async_scheduling ? s.parallel.pp : 1);
}

std::int64_t blocks_per_request(const KvLayer& spec, const Settings& s) {
  // Decode context parallelism deals a request's tokens out to the ranks.
  const bool grows = spec.kind == KvKind::full || spec.kind == KvKind::mla;
  const std::int64_t length = grows ? ceil_div(s.max_model_len, s.parallel.dcp) : s.max_model_len;
  switch (spec.kind) {
    case KvKind::full:
    case KvKind::mla: return ceil_div(length, spec.block_size);
    case KvKind::sliding_window:
      return ceil_div(std::min(spec.window - 1 + tokens_in_flight(s), length), spec.block_size) + 1;
    case KvKind::chunked_local:
      return ceil_div(std::min(spec.window + tokens_in_flight(s), length), spec.block_size);
    case KvKind::mamba:
      return (s.prefix_caching ? 2 + spec.checkpoint_blocks : 1) + spec.speculative_blocks;
  }
  return 0;
}

/// UniformTypeKVCacheSpecs.is_uniform_type: one kind of need, whatever the page sizes.
bool is_uniform_type(const std::vector<KvLayer>& layers) {
  const KvLayer& first = layers.front();
  const auto full = [](KvKind kind) { return kind == KvKind::full || kind == KvKind::mla; };
  return std::ranges::all_of(layers, [&](const KvLayer& layer) {
    if (layer.block_size != first.block_size) return false;
    if (full(first.kind)) return full(layer.kind);
    if (layer.kind != first.kind) return false;
    return first.kind == KvKind::mamba ? layer.page_bytes() == first.page_bytes()
                                       : layer.window == first.window;
  });
}

/// unify_kv_cache_spec_page_size.
Result<void> unify_page_size(std::vector<KvLayer>& layers) {
  Bytes most = 0;
  for (const KvLayer& layer : layers) most = std::max(most, layer.page_bytes());
  for (KvLayer& layer : layers) {
    const Bytes page = layer.page_bytes();
    if (page == most) continue;
    if (layer.kind != KvKind::mamba && most % page == 0)
      layer.block_size *= most / page;
    else if (layer.kind != KvKind::mla)
      layer.padded_page = most;
    else
      return unsupported("the layers' KV pages cannot be brought to one size");
  }
  return {};
}

/// Whether layers of several kinds have pools of blocks by their kind. The V0 engine and the first
/// V1 engines have one pool; local attention in chunks was long apart only where it was asked for
/// (VLLM_ALLOW_CHUNKED_LOCAL_ATTN_WITH_HYBRID_KV_CACHE).
bool has_pools_by_kind(const std::vector<KvLayer>& layers, const Settings& s) {
  if (!s.hybrid_kv_cache || s.runner == Runner::v0) return false;
  if (!s.release.has(changes::kVllmGroupsLayersByKind)) return false;
  const bool has_chunks = std::ranges::any_of(
      layers, [](const KvLayer& layer) { return layer.kind == KvKind::chunked_local; });
  return !has_chunks || s.release.has(changes::kVllmKeepsChunksApart);
}

/// unify_hybrid_kv_cache_specs: local layers are held as full ones.
void promote_to_full(std::vector<KvLayer>& layers) {
  const bool has_full =
      std::ranges::any_of(layers, [](const KvLayer& layer) { return layer.kind == KvKind::full; });
  if (!has_full) return;
  for (KvLayer& layer : layers)
    if (layer.kind == KvKind::sliding_window || layer.kind == KvKind::chunked_local)
      layer.kind = KvKind::full;
}

/// _align_hybrid_block_size: attention's blocks grow until a page of theirs holds a state, then
/// states are padded to that page.
void align_hybrid(std::vector<KvLayer>& layers) {
  constexpr std::int64_t kMlaBlock = 128;
  Bytes state = 0, per_token = 0;
  std::int64_t unit = 0;
  for (const KvLayer& layer : layers) {
    if (layer.kind == KvKind::mamba) {
      state = std::max(state, layer.state_bytes);
      continue;
    }
    per_token = std::max(per_token, layer.bytes_per_token());
    unit = std::max(
        unit, layer.kind == KvKind::mla ? std::max(kMlaBlock, layer.block_size) : layer.block_size);
  }
  if (state == 0 || per_token == 0) return;
  const std::int64_t block = unit * ceil_div(state, unit * per_token);
  for (KvLayer& layer : layers) {
    layer.block_size = block;
    if (layer.kind == KvKind::mamba && layer.state_bytes < block * per_token)
      layer.padded_page = block * per_token;
  }
}

bool may_share(const KvLayer& a, const KvLayer& b) {
  KvLayer same = b;
  // FullAttentionSpec.merge reconciles layers that differ in a remembered window only.
  if (a.kind == KvKind::full && b.kind == KvKind::full) same.window = a.window;
  return a == same;
}

std::vector<std::vector<KvLayer>> buckets_of(const std::vector<KvLayer>& layers) {
  std::vector<std::vector<KvLayer>> buckets;
  for (const KvLayer& layer : layers) {
    const auto at = std::ranges::find_if(
        buckets, [&](const auto& bucket) { return may_share(bucket.front(), layer); });
    if (at == buckets.end())
      buckets.push_back({layer});
    else
      at->push_back(layer);
  }
  return buckets;
}

/// Whether pages of several sizes lie side by side in a block, because a latent's page can be brought
/// to no other size (block-outermost layouts; DeepSeek V4).
bool packs_pages(const std::vector<KvLayer>& layers) {
  const auto has = [&](KvKind kind) {
    return std::ranges::any_of(layers, [&](const KvLayer& layer) { return layer.kind == kind; });
  };
  return has(KvKind::mla) && has(KvKind::sliding_window);
}

/// The layers of a bucket by the size of their page.
std::map<Bytes, std::int64_t> layers_by_page(const std::vector<KvLayer>& bucket) {
  std::map<Bytes, std::int64_t> counts;
  for (const KvLayer& layer : bucket) ++counts[layer.page_bytes()];
  return counts;
}

/// The layers of the commonest page if all pages are as common: a pattern that repeats so often.
std::optional<std::int64_t> repeats_of(const std::vector<KvLayer>& bucket) {
  const std::map<Bytes, std::int64_t> counts = layers_by_page(bucket);
  for (const auto& [page, count] : counts)
    if (count != counts.begin()->second) return std::nullopt;
  return counts.begin()->second;
}

/// _approximate_gcd: the size of groups, from `least` on, that leaves the least padding.
std::int64_t least_padding(const std::vector<std::int64_t>& counts, std::int64_t least) {
  std::int64_t best = least, best_padding = -1;
  for (std::int64_t size = least; size <= std::ranges::max(counts); ++size) {
    std::int64_t padding = 0;
    for (const std::int64_t count : counts) padding += round_up(count, size) - count;
    if (best_padding >= 0 && padding > best_padding) continue;
    best = size;
    best_padding = padding;
  }
  return best;
}

/// _get_packed_kv_cache_groups: layers that are uniform together form a bucket; buckets in which a
/// pattern repeats are cut to groups of about as many repeats.
std::vector<KvGroupPlan> packed_groups(const std::vector<KvLayer>& layers) {
  std::vector<std::vector<KvLayer>> buckets;
  for (const KvLayer& layer : layers) {
    const auto at = std::ranges::find_if(
        buckets, [&](const auto& bucket) { return is_uniform_type({bucket.front(), layer}); });
    at == buckets.end() ? buckets.push_back({layer}) : at->push_back(layer);
  }
  std::vector<std::int64_t> repeats;
  std::int64_t least = 1;
  for (const auto& bucket : buckets) {
    const std::optional<std::int64_t> count = repeats_of(bucket);
    if (!count) continue;
    repeats.push_back(*count);
    if (layers_by_page(bucket).size() > 1) least = std::max(least, *count);
  }
  const std::int64_t size = repeats.empty() ? 1 : least_padding(repeats, least);
  std::vector<KvGroupPlan> groups;
  for (const auto& bucket : buckets) {
    const std::optional<std::int64_t> count = repeats_of(bucket);
    const auto parts = static_cast<std::size_t>(count ? ceil_div(*count, size) : 1);
    for (std::size_t i = 0; i < parts; ++i) {
      KvGroupPlan group{.spec = bucket.front()};
      for (std::size_t at = i; at < bucket.size(); at += parts) group.layers.push_back(bucket[at]);
      groups.push_back(std::move(group));
    }
  }
  return groups;
}

/// How many layers a group has if kinds have from `least` to `most`: a few more layers are padding.
std::size_t group_size(std::size_t least, std::size_t most, const Release& release) {
  if (release.has(changes::kVllmPadsGroupsMore)) return 2 * most < 3 * least ? most : least;
  if (release.has(changes::kVllmPadsGroups)) return 4 * most < 5 * least ? most : least;
  return least;
}

/// _get_kv_cache_groups_uniform_page_size.
std::vector<KvGroupPlan> equal_groups(const std::vector<KvLayer>& layers, const Release& release) {
  const auto buckets = buckets_of(layers);
  std::size_t least = buckets.front().size(), most = 0;
  for (const auto& bucket : buckets) {
    least = std::min(least, bucket.size());
    most = std::max(most, bucket.size());
  }
  const std::size_t size = group_size(least, most, release);
  std::vector<KvGroupPlan> groups;
  for (const auto& bucket : buckets) {
    const std::size_t count = (bucket.size() + size - 1) / size;
    for (std::size_t i = 0; i < count; ++i) {
      KvGroupPlan group{.spec = bucket.front()};
      for (std::size_t at = i; at < bucket.size(); at += count) group.layers.push_back(bucket[at]);
      groups.push_back(std::move(group));
    }
  }
  return groups;
}

/// "GPU KV cache size": the tokens of as many requests as there is room for; before, as if all groups
/// took a block for the same tokens, so that models of several groups seem to hold less.
std::int64_t logged_tokens(const KvPlan& plan, const Settings& s) {
  if (s.release.has(changes::kVllmCountsTokensByRequests))
    return static_cast<std::int64_t>(plan.max_concurrency * static_cast<double>(s.max_model_len));
  std::int64_t block = plan.groups.front().spec.block_size;
  for (const KvGroupPlan& group : plan.groups) block = std::min(block, group.spec.block_size);
  return plan.num_blocks / std::ssize(plan.groups) * block * s.parallel.dcp;
}

}  // namespace

Result<std::vector<KvGroupPlan>> kv_groups(const std::vector<KvLayer>& given,
                                           const Settings& settings) {
  std::vector<KvLayer> layers = given;
  if (layers.empty()) return std::vector<KvGroupPlan>{};
  align_hybrid(layers);
  if (!has_pools_by_kind(layers, settings)) promote_to_full(layers);
  std::vector<KvGroupPlan> groups;
  if (is_uniform_type(layers)) {
    groups.push_back({.spec = layers.front(), .layers = layers});
  } else if (packs_pages(layers)) {
    groups = packed_groups(layers);
  } else {
    if (const Result<void> unified = unify_page_size(layers); !unified)
      return tl::unexpected(unified.error());
    groups = equal_groups(layers, settings.release);
  }
  for (KvGroupPlan& group : groups)
    group.blocks_per_request = blocks_per_request(group.spec, settings);
  return groups;
}

KvPlan plan_kv_cache(std::vector<KvGroupPlan> groups, Bytes available, const Settings& settings) {
  KvPlan plan{.groups = std::move(groups)};
  std::int64_t blocks = 0;
  for (const KvGroupPlan& group : plan.groups) {
    Bytes bytes = 0;
    for (const KvLayer& layer : group.layers) bytes += layer.page_bytes();
    plan.bytes_per_block = std::max(plan.bytes_per_block, bytes);
    blocks += group.blocks_per_request;
  }
  if (plan.bytes_per_block == 0) {
    plan.num_blocks = 1;  // models without a cache: BlockPool's null block
    return plan;
  }
  plan.num_blocks = std::max<std::int64_t>(
      0, settings.num_gpu_blocks_override.value_or(available / plan.bytes_per_block));
  plan.needed = (blocks + 1) * plan.bytes_per_block;
  if (blocks > 0)
    plan.max_concurrency = static_cast<double>(plan.num_blocks) / static_cast<double>(blocks);
  plan.tokens = logged_tokens(plan, settings);
  return plan;
}

}  // namespace memtape::vllm
