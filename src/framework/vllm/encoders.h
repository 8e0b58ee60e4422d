// SPDX-License-Identifier: Apache-2.0
// Encoders: what vLLM's profile run gives a model's encoders of images and videos: so many of the
// largest items that the processor makes as the encoder's budget holds (vllm 0.32,
// multimodal/encoder_budget.py, v1/core/encoder_cache_manager.py; get_mm_max_tokens_per_item and
// get_image_size_with_most_features in model_executor/models/{qwen2_vl,qwen3_vl,mistral3,
// gemma3_mm,llava}.py).
// Invariant: a family whose run is not transcribed has no items, and `is_known` is false.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "framework/vllm/settings.h"
#include "ghost/dims.h"
#include "serving/serve_engine.h"

namespace memtape::vllm {

/// One image or video of the most tokens.
struct EncoderItem {
  std::int64_t patches = 0;  ///< that the tower's layers see
  std::int64_t tokens = 0;   ///< that the text model sees
  std::int64_t parts = 1;    ///< tiles or frames, which the tower sees apart from each other
};

/// A kind of item with the most tokens that one of them has.
using Modality = std::pair<std::string, EncoderItem>;

struct Encoders {
  bool is_known = false;  ///< the run is transcribed
  bool profiles = true;   ///< not so with --skip-mm-profiling
  std::string modality = {};
  EncoderItem item = {};
  std::int64_t items = 0;  ///< in the profile's batch
  /// The V0 engine's dummy prompts, each with all its items: how many there are, and their tokens.
  std::int64_t prompts = 0, prompt_tokens = 0;
  std::string assumed = {};  ///< what is not in config.json: the processor's limits
  /// Sizes of the tower's parameters where vLLM's own are not modelled: those of transformers'
  /// class, which each rank holds whole.
  std::vector<ghost::Dims> tower = {};
  bool tower_is_whole = false;
};

/// What --limit-mm-per-prompt says, as JSON: before 0.10 as "image=4,video=1", too.
Result<Config> item_limits(const ServeOptions& options, const Release& release);

/// Null for a model without encoders, and for a server of text alone.
Result<std::shared_ptr<const Encoders>> read_encoders(const ServeOptions& options,
                                                      const Config& config, const Settings& s);

/// Sizes of the parameters of a tower that is not known.
std::span<const ghost::Dims> tower_of(const Settings& s);

/// Whether the model reads videos, too.
bool reads_videos(const Config& config);

/// The option with which a release of vLLM serves a model without its encoders.
std::string text_alone_option(const Config& config, const Settings& s);

}  // namespace memtape::vllm
