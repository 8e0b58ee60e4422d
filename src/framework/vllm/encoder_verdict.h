// SPDX-License-Identifier: Apache-2.0
// What a model's encoders make of the verdict: where their profile run is transcribed, what was
// assumed for it; where it is not, that nobody knows whether the server starts, and the option that
// serves without them.
#pragma once

#include "framework/vllm/settings.h"
#include "model/config.h"
#include "outcome/serve_answer.h"

namespace memtape::vllm {

/// `left` is what the cache has more than one request of the full length needs, and `profile` what
/// the profile run held beside weights and buffers.
struct EncoderRoom {
  Bytes left = 0, profile = 0;
};

void judge_encoders(ServeAnswer& answer, const Config& config, const Settings& s, EncoderRoom room);

}  // namespace memtape::vllm
