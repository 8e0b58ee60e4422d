// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/methods/online.h"

#include <algorithm>

namespace memtape::vllm {

/// SGLang quantizes when all is loaded, in every release (srt/layers/quantization/fp8.py,
/// srt/model_loader/loader.py: load_weights_and_postprocess).
OnlineLoading online_loading(const Settings& s) {
  if (s.sglang_layers || !s.release.has(changes::kVllmQuantizesWhileLoading))
    return OnlineLoading::whole;
  return s.release.has(changes::kVllmStreamsOnlineWeights) ? OnlineLoading::streamed
                                                           : OnlineLoading::beside;
}

bool is_seen_complete(const Settings& s, std::int64_t wanted,
                      std::span<const std::int64_t> loaded) {
  if (s.release.has(changes::kVllmCountsWhatIsCopied)) return true;
  std::int64_t sum = 0;
  return std::ranges::any_of(loaded, [&](std::int64_t part) { return (sum += part) == wanted; });
}

}  // namespace memtape::vllm
