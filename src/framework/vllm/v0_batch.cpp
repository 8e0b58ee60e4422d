// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/v0_batch.h"

#include <algorithm>

#include <fmt/format.h>

#include "release/early_engine_changes.h"
#include "release/engine_changes.h"

namespace memtape::vllm {
namespace {

bool attends_to_window(const Config& config) {
  if (config.has("use_sliding_window") && config.json("use_sliding_window") != "true") return false;
  return config.has("sliding_window") && config.json("sliding_window") != "null";
}

bool leaves_images_whole(const Config& config, const Settings& s) {
  return config.has("vision_config") && s.release.has(changes::kVllmLeavesImagesWhole);
}

/// enable_chunked_prefill, where it was not given.
bool chunks_prompts(const ServeOptions& options, const Config& config, const Settings& s) {
  constexpr std::int64_t kLongContext = 32768;
  if (s.max_model_len <= kLongContext || s.pooling) return false;
  if (!s.release.has(changes::kVllmChunksLongPrompts)) return false;
  const bool drafts = options.has("speculative-config");
  return !drafts && !options.has("enable-lora") && !attends_to_window(config) &&
         !leaves_images_whole(config, s);
}

}  // namespace

Result<std::int64_t> within_window(std::int64_t length, bool is_given, const Config& config,
                                   const Release& release) {
  if (config.text("model_type", "") != "gemma2" || !attends_to_window(config)) return length;
  if (release.has(changes::kVllmAlternatesWindows)) return length;
  const std::int64_t window = config.integer("sliding_window", length);
  if (is_given && length > window)
    return bad_input(
        fmt::format("before 0.6.5 vLLM serves {} tokens of Gemma 2, those of its window", window),
        "--max-model-len", fmt::format("{} at most", window));
  return std::min(length, window);
}

V0Batch v0_batch(const ServeOptions& options, const Config& config, const Settings& s) {
  constexpr std::int64_t kLeast = 2048, kSmallChunk = 512, kChunk = 2048;
  constexpr std::int64_t kPooled = 32768, kWithImages = 5120;
  const bool asked = options.has("enable-chunked-prefill");
  const bool refused = options.has("no-enable-chunked-prefill");
  V0Batch batch;
  batch.chunks = asked || (!refused && chunks_prompts(options, config, s));
  batch.tokens = std::max(s.max_model_len, kLeast);
  if (batch.chunks) batch.tokens = s.release.has(changes::kVllmChunksBy2048) ? kChunk : kSmallChunk;
  if (s.pooling) batch.tokens = std::max(batch.tokens, kPooled);
  if (leaves_images_whole(config, s)) batch.tokens = std::max(batch.tokens, kWithImages);
  return batch;
}

}  // namespace memtape::vllm
