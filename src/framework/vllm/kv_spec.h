// SPDX-License-Identifier: Apache-2.0
// KvLayer: what one layer asks of the KV cache (vllm/v1/kv_cache_interface.py, KVCacheSpec): its
// kind, the size of a page, and how many pages a request needs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/dtype.h"

namespace memtape::vllm {

enum class KvKind : std::uint8_t { full, sliding_window, chunked_local, mla, mamba };

/// As answers call the kind of a group of layers.
constexpr std::string_view name(KvKind kind) {
  switch (kind) {
    case KvKind::full: return "full_attention";
    case KvKind::sliding_window: return "sliding_window";
    case KvKind::chunked_local: return "chunked_local";
    case KvKind::mla: return "mla";
    case KvKind::mamba: return "recurrent";
  }
  return "";
}

struct KvLayer {
  KvKind kind = KvKind::full;
  std::int64_t block_size = 16;
  std::int64_t heads = 1, head_size = 0, head_size_v = 0;
  std::int64_t window = 0;  ///< the window, or the chunk of local attention
  DType dtype = DType::bfloat16;
  Bytes state_bytes = 0;  ///< for each request, in a recurrent layer
  Bytes padded_page = 0;  ///< 0: the page is not padded
  int speculative_blocks = 0;
  int checkpoint_blocks = 0;  ///< those of a recurrent layer with prefix caching

  Bytes bytes_per_token() const {
    return kind == KvKind::mla ? bytes_of(dtype, head_size)
                               : bytes_of(dtype, heads * (head_size + head_size_v));
  }
  /// real_page_size_bytes, or the size to which it was padded.
  Bytes page_bytes() const {
    if (padded_page > 0) return padded_page;
    return kind == KvKind::mamba ? state_bytes : block_size * bytes_per_token();
  }
  bool operator==(const KvLayer&) const = default;
};

}  // namespace memtape::vllm
