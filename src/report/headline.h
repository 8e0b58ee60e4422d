// SPDX-License-Identifier: Apache-2.0
// What the answer is about, in a line or two: the options that shape memory, in words.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "outcome/prediction.h"

namespace memtape::report {

/// What was taken where nothing was said, and what all figures hang on: "transformers", "8 x 2048
/// tokens", "fp32". The first line of an answer says it.
std::vector<std::string> taken_in_words(const std::vector<Setting>& workload);

/// The other settings: "adamw (fused)", "sdpa attention" ...; those that say nothing ("none", 1
/// GPU) are left out.
std::vector<std::string> settings_in_words(const Prediction& prediction);

/// The rank with the highest peak.
const RankReport& peak_rank(const Prediction& prediction);

/// What is needed before the measured step, where that is more than the step and too much: making
/// the model, or the first step.
std::optional<Bytes> before_the_step(const Prediction& prediction);

/// The figure that the verdict rests on, and the first one at every door: what the device holds
/// within its limit, where cached segments go back; what comes before the step, where that is too
/// much; else the peak of the fullest rank.
Bytes needed(const Prediction& prediction);

/// The verdict in words, with what it rests on: "fits, cached segments given back".
std::string verdict_in_words(const Prediction& prediction);

}  // namespace memtape::report
