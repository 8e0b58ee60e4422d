// SPDX-License-Identifier: Apache-2.0
#include "framework/llamacpp/caches.h"
#include "framework/llamacpp/context_sizes.h"

#include <algorithm>

namespace memtape::llamacpp {
namespace {

constexpr std::int64_t kCellPad = 256;
constexpr std::int64_t kLeastRotation = 64;

/// The largest power of two from 64 on that divides the head, as the original looks for it.
std::int64_t key_rotation(std::int64_t head) {
  std::int64_t rows = kLeastRotation;
  do rows *= 2;
  while (head % rows == 0);
  return rows / 2;
}

class Planner {
 public:
  Planner(const Hyperparameters& hp, const Settings& settings, const Devices& devices,
          const Placement& placement)
      : hp_(hp),
        settings_(settings),
        devices_(devices),
        placement_(placement),
        sizes_(context_sizes(settings, hp)) {}

  CachePlan plan() {
    plan_.type_k = settings_.type_k;
    plan_.type_v = settings_.type_v;
    plan_.streams = sizes_.streams;
    plan_.transposed_v = settings_.flash == FlashAttention::off;
    plan_.has_window = hp_.swa && settings_.build.separates_windows();
    plan_.state_rows = std::max<std::int64_t>(1, settings_.n_seq_max);
    if (hp_.keeps_snapshots()) plan_.snapshots = 1 + settings_.n_snapshots;
    plan_.n_embd_r = hp_.n_embd_r();
    plan_.n_embd_s = hp_.n_embd_s();
    plan_.full.cells = sizes_.n_ctx_seq;
    plan_.window.cells = window_cells();
    fill(plan_.full, false);
    fill(plan_.window, true);
    if (hp_.indexer_head > 0) fill_indexer();
    for (std::int64_t il = 0; il < hp_.n_layer(); ++il)
      if (hp_.is_recurrent(il)) plan_.recurrent.push_back({il, &memory_of(il)});
    return std::move(plan_);
  }

  CachePlan plan_drafts() {
    plan_.type_k = settings_.draft_type_k;
    plan_.type_v = settings_.draft_type_v;
    plan_.streams = sizes_.streams;
    plan_.transposed_v = settings_.flash == FlashAttention::off;
    plan_.full.cells = sizes_.n_ctx_seq;
    plan_.full.index_of.assign(static_cast<std::size_t>(hp_.n_layer_all), -1);
    for (std::int64_t il = hp_.n_layer(); il < hp_.n_layer_all; ++il) add_layer(plan_.full, il);
    rotate(plan_.full);
    return std::move(plan_);
  }

 private:
  const ggml::BufferType& memory_of(std::int64_t il) const {
    return devices_.memory(settings_.kv_offload ? placement_.layer(il) : devices_.cpu());
  }

  std::int64_t window_cells() const {
    const std::int64_t all = sizes_.n_ctx_seq;
    if (settings_.swa_full) return all;
    const std::int64_t windows = hp_.n_swa * (settings_.kv_unified ? settings_.n_seq_max : 1);
    return round_up(std::min(all, windows + sizes_.n_ubatch), kCellPad);
  }

  /// Deci's layers without heads are not left out: transposed values are padded there, too.
  bool keeps_empty_layers() const { return hp_.arch == "deci"; }

  bool belongs(std::int64_t il, bool window) const {
    return (!hp_.no_cache || hp_.unused_cache) && (hp_.has_attention(il) || keeps_empty_layers()) &&
           il < hp_.n_layer() && (hp_.is_swa(il) && plan_.has_window) == window;
  }

  void fill(KvCachePlan& cache, bool window) {
    cache.index_of.assign(static_cast<std::size_t>(hp_.n_layer_all), -1);
    for (std::int64_t il = 0; il < hp_.n_layer_all; ++il) {
      if (!belongs(il, window) || !hp_.has_kv(il)) continue;
      add_layer(cache, il);
    }
    if (cache.layers.empty()) return;
    share_last(cache, window);
    rotate(cache);
  }

  void add_layer(KvCachePlan& cache, std::int64_t il) const {
    cache.index_of[static_cast<std::size_t>(il)] = static_cast<int>(cache.layers.size());
    const std::int64_t v = plan_.transposed_v ? hp_.v_gqa_max() : hp_.v_gqa(il);
    cache.layers.push_back({il,
                            {hp_.k_gqa(il), cache.cells, plan_.streams, 1},
                            {latent_alone(hp_, settings_) ? 0 : v, cache.cells, plan_.streams, 1},
                            &memory_of(il)});
  }

  /// A key a token (llama-kv-cache-dsa.cpp), always rotated.
  void fill_indexer() {
    KvCachePlan& cache = plan_.indexer;
    cache.cells = sizes_.n_ctx_seq;
    cache.rotation_k = key_rotation(hp_.indexer_head);
    cache.index_of.assign(static_cast<std::size_t>(hp_.n_layer_all), -1);
    for (std::int64_t il = 0; il < hp_.n_layer(); ++il) {
      if (!hp_.indexes[static_cast<std::size_t>(il)]) continue;
      cache.index_of[static_cast<std::size_t>(il)] = static_cast<int>(cache.layers.size());
      cache.layers.push_back({il,
                              {hp_.indexer_head, cache.cells, plan_.streams, 1},
                              {0, cache.cells, plan_.streams, 1},
                              &memory_of(il)});
    }
  }

  void rotate(KvCachePlan& cache) const {
    if (cache.layers.empty() || !settings_.build.rotates_caches()) return;
    if (ggml::is_quantized(plan_.type_k) && hp_.k_head(0) % kLeastRotation == 0)
      cache.rotation_k = key_rotation(hp_.k_head(cache.layers.front().layer));
    if (!hp_.is_mla() && ggml::is_quantized(plan_.type_v) && hp_.v_head(0) % kLeastRotation == 0)
      cache.rotation_v = kLeastRotation;
  }

  /// Layers without keys and values of their own take those of the last that has them.
  void share_last(KvCachePlan& cache, bool window) const {
    for (std::int64_t il = 0; il < hp_.n_layer(); ++il)
      if (belongs(il, window) && !hp_.has_kv(il))
        cache.index_of[static_cast<std::size_t>(il)] = static_cast<int>(cache.layers.size()) - 1;
  }

  const Hyperparameters& hp_;
  const Settings& settings_;
  const Devices& devices_;
  const Placement& placement_;
  ContextSizes sizes_;
  CachePlan plan_;
};

}  // namespace

Bytes CachePlan::bytes_in(const ggml::BufferType& buffer) const {
  Bytes bytes = 0;
  for (const KvCachePlan* cache : {&full, &window, &indexer})
    for (const LayerCache& layer : cache->layers)
      if (layer.buffer == &buffer)
        bytes += placed_bytes(buffer, type_k, layer.k) + placed_bytes(buffer, type_v, layer.v);
  for (const RecurrentLayer& layer : recurrent)
    if (layer.buffer == &buffer)
      for (const std::int64_t width : {n_embd_r, n_embd_s})
        bytes += placed_bytes(buffer, ggml::Type::f32, {width, state_rows * snapshots, 1, 1});
  return bytes;
}

CachePlan plan_caches(const Hyperparameters& hp, const Settings& settings, const Devices& devices,
                      const Placement& placement) {
  return Planner(hp, settings, devices, placement).plan();
}

CachePlan plan_draft_caches(const Hyperparameters& hp, const Settings& settings,
                            const Devices& devices, const Placement& placement) {
  return Planner(hp, settings, devices, placement).plan_drafts();
}

}  // namespace memtape::llamacpp
