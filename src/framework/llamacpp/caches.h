// SPDX-License-Identifier: Apache-2.0
// Caches: what a context keeps for each sequence (llama-kv-cache.cpp, llama-kv-cache-iswa.cpp,
// llama-memory-recurrent.cpp): the keys and values of layers with full attention and of layers with
// a window, and the states of recurrent layers.
#pragma once

#include <vector>

#include "framework/llamacpp/placement.h"

namespace memtape::llamacpp {

struct LayerCache {
  std::int64_t layer = 0;
  ggml::Extents k{0, 1, 1, 1}, v{0, 1, 1, 1};  ///< v[0] is 0 if K holds the values, too
  const ggml::BufferType* buffer = nullptr;
};

struct KvCachePlan {
  std::int64_t cells = 0;
  /// The rows of the Hadamard matrices; 0: there are none.
  std::int64_t rotation_k = 0, rotation_v = 0;
  std::vector<LayerCache> layers;
  std::vector<int> index_of;  ///< for each layer; -1 if it has none
};

struct RecurrentLayer {
  std::int64_t layer = 0;
  const ggml::BufferType* buffer = nullptr;
};

struct CachePlan {
  ggml::Type type_k = ggml::Type::f16, type_v = ggml::Type::f16;
  std::int64_t streams = 1;
  bool transposed_v = false;  ///< V is transposed without flash attention
  KvCachePlan full, window;
  KvCachePlan indexer;  ///< keys alone, by which attention chooses the tokens it looks at
  bool has_window = false;
  std::vector<RecurrentLayer> recurrent;
  std::int64_t state_rows = 0;  ///< the number of sequences
  /// The states of each sequence before its last tokens, which are kept in case that drafts fail.
  std::int64_t snapshots = 1;
  std::int64_t n_embd_r = 0, n_embd_s = 0;

  /// The bytes of all this that lie in the buffer.
  Bytes bytes_in(const ggml::BufferType& buffer) const;
};

CachePlan plan_caches(const Hyperparameters& hp, const Settings& settings, const Devices& devices,
                      const Placement& placement);
/// The caches of the context that drafts: the keys and values of the draft blocks.
CachePlan plan_draft_caches(const Hyperparameters& hp, const Settings& settings,
                            const Devices& devices, const Placement& placement);

}  // namespace memtape::llamacpp
