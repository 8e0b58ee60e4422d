// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/encoder_verdict.h"

#include <fmt/format.h>

#include "base/text.h"
#include "framework/vllm/encoders.h"
#include "framework/vllm/models/older_qwen_encoder.h"

namespace memtape::vllm {
namespace {

/// Nothing the profile run finds changes a cache whose size was given.
bool sizes_its_cache(const Settings& s) {
  return !s.kv_cache_memory_bytes && !s.num_gpu_blocks_override;
}

void doubt(ServeAnswer& answer, std::string why, const std::string& lever) {
  if (answer.doubt.empty()) answer.doubt = fmt::format("{}; {} serves text alone", why, lever);
  if (answer.bounds) answer.bounds->causes.push_back(std::move(why));
}

}  // namespace

void judge_encoders(ServeAnswer& answer, const Config& config, const Settings& s,
                    EncoderRoom room) {
  if (!s.encoders) return;
  const Encoders& encoders = *s.encoders;
  const std::string lever = text_alone_option(config, s);
  if (encoders.tower_is_whole && s.parallel.tp > 1)
    answer.warnings.push_back("each rank is taken to hold the whole of the model's encoders");
  if (!encoders.profiles) {
    answer.warnings.push_back(
        "with --skip-mm-profiling what the encoders hold comes on top while they run");
    return;
  }
  if (!encoders.is_known) {
    if (sizes_its_cache(s))
      doubt(answer,
            "what this model's encoders hold in vLLM's profile run is not modelled and is left out",
            lever);
    return;
  }
  if (encoders.items == 0 && encoders.prompts > 0) {
    if (sizes_its_cache(s))
      doubt(
          answer,
          fmt::format("a prompt of all images and videos has {} tokens, more than a batch, so "
                      "that this release's profile run leaves the encoder out: what it holds comes "
                      "on top while it runs",
                      with_commas(encoders.prompt_tokens)),
          lever);
    return;
  }
  answer.warnings.push_back(
      fmt::format("the profile run encodes {} {} of {} tokens{}{}; {} leaves it out",
                  encoders.items, encoders.items == 1 ? encoders.modality : encoders.modality + "s",
                  with_commas(encoders.item.tokens), encoders.assumed.empty() ? "" : ": ",
                  encoders.assumed, lever));
  const bool is_older =
      !s.release.has(changes::kVllmEncodersJoinTheirGates) && !is_older_qwen_encoder(config, s);
  if (is_older && sizes_its_cache(s) && room.left < room.profile)
    doubt(answer,
          "this release's encoders may hold up to twice as much in the profile run as those that "
          "are modelled",
          lever);
}

}  // namespace memtape::vllm
