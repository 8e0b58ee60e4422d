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

/// What its device holds at most, or would have to: the peak, or, where that is more than there is
/// and fits all the same, what is left of it once the allocator has given cached segments back.
Bytes within_limit(const Prediction& prediction);

}  // namespace memtape::report
