// SPDX-License-Identifier: Apache-2.0
// What the answer is about, in one or two lines: the options that decide about memory, in words.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "outcome/prediction.h"

namespace memtape::report {

/// The settings on which all figures depend and which were assumed if nobody named them:
/// "transformers", "8 x 2048 tokens", "fp32". The first line of an answer shows them.
std::vector<std::string> taken_in_words(const std::vector<Setting>& workload);

/// The other settings: "adamw (fused)", "sdpa attention" ... Settings that say nothing ("none", 1
/// GPU) are left out.
std::vector<std::string> settings_in_words(const Prediction& prediction);

/// The rank with the highest peak.
const RankReport& peak_rank(const Prediction& prediction);

/// The memory that is needed before the measured step, while the model is made or in the first
/// step. It is set only if it exceeds both the step's peak and the device.
std::optional<Bytes> before_the_step(const Prediction& prediction);

/// The figure on which the verdict rests, and the first figure of every answer. It is the peak of
/// the fullest rank, with two exceptions: if the step fits only because cached segments go back to
/// the driver, it is what the device holds then; if what comes before the step is too much, it is
/// that.
Bytes needed(const Prediction& prediction);

/// "[2, 3]"
std::string shape_text(const std::vector<std::int64_t>& shape);
/// "mm in model.layers.3.mlp", as far as it is known.
std::string op_in_module(std::string_view op, std::string_view module);

/// Why the step does not fit: what asks for how much, and what the allocator has then.
std::string failure_in_words(const Failure& failure);

/// What --quiet says of one thing, in every command: "NAME: 2.3 GiB on the device of 79.2 GiB, fits
/// with 76.9 GiB to spare".
struct QuietLine {
  std::string name;
  Bytes needed = 0;
  std::optional<Bytes> total = {};
  std::string verdict = {};
  std::optional<Bytes> room = {};
  std::string reason = {};

  std::string text() const;
};

/// The same for other figures: "NAME: figure, figure". Empty ones are left out.
std::string quiet_line(std::string_view name, std::initializer_list<std::string> figures);

/// The verdict in words, with its reason: "fits, cached segments given back".
std::string verdict_in_words(const Prediction& prediction);

}  // namespace memtape::report
