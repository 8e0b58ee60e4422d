// SPDX-License-Identifier: Apache-2.0
// What the answer is about, in a line or two: the options that shape memory, in words.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/prediction.h"

namespace memtape::report {

/// "1 x 4096 tokens", "bf16", "adamw fused", "sdpa attention" ...: settings that say nothing
/// ("none", 1 GPU) are left out.
std::vector<std::string> settings_in_words(const Prediction& prediction);

/// The rank with the highest peak.
const RankReport& peak_rank(const Prediction& prediction);

/// What is needed before the measured step, where that is more than the step and too much: making
/// the model, or the first step.
std::optional<Bytes> before_the_step(const Prediction& prediction);

/// The most that the device must hold. Usually the peak; if the peak exceeds the device but the
/// step still fits, the size after the allocator has released cached segments.
Bytes within_limit(const Prediction& prediction);

}  // namespace memtape::report
