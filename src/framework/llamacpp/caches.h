// SPDX-License-Identifier: Apache-2.0
// Caches: what a context keeps per sequence (llama-kv-cache.cpp, llama-kv-cache-iswa.cpp,
// llama-memory-recurrent.cpp): keys and values of the layers with full attention and of those with
// a window, and the states of recurrent layers.
#pragma once

#include <vector>

#include "framework/llamacpp/placement.h"

namespace memtape::llamacpp {

struct LayerCache {
  std::int64_t layer = 0;
  ggml::Extents k{0, 1, 1, 1}, v{0, 1, 1, 1};  ///< v[0] is 0 where K holds the values, too
  const ggml::BufferType* buffer = nullptr;
};

struct KvCachePlan {
  std::int64_t cells = 0;
  std::int64_t rotation_k = 0, rotation_v = 0;  ///< rows of the Hadamard matrices; 0: none
  std::vector<LayerCache> layers;
  std::vector<int> index_of;  ///< by layer; -1 where there is none
};

struct RecurrentLayer {
  std::int64_t layer = 0;
  const ggml::BufferType* buffer = nullptr;
};

struct CachePlan {
  ggml::Type type_k = ggml::Type::f16, type_v = ggml::Type::f16;
  std::int64_t streams = 1;
  bool transposed_v = false;  ///< without flash attention
  KvCachePlan full, window;
  KvCachePlan indexer;  ///< keys alone, by which attention chooses what it looks at
  bool has_window = false;
  std::vector<RecurrentLayer> recurrent;
  std::int64_t state_rows = 0;  ///< sequences
  std::int64_t snapshots =
      1;  ///< of each: the states before the last tokens, where drafts may fail
  std::int64_t n_embd_r = 0, n_embd_s = 0;

  /// What the buffer holds of all this.
  Bytes bytes_in(const ggml::BufferType& buffer) const;
};

CachePlan plan_caches(const Hyperparameters& hp, const Settings& settings, const Devices& devices,
                      const Placement& placement);
/// Those of the context that drafts: the draft blocks' keys and values.
CachePlan plan_draft_caches(const Hyperparameters& hp, const Settings& settings,
                            const Devices& devices, const Placement& placement);

}  // namespace memtape::llamacpp
