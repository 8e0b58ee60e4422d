// SPDX-License-Identifier: Apache-2.0
// Explanation: what `memtape explain` answers about the files that it was given: each recording
// with what its memory held, each message with what it says, and what would have avoided the
// failure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "evidence/account.h"
#include "evidence/fragmentation.h"
#include "evidence/leaks.h"
#include "evidence/oom_message.h"
#include "evidence/start_up_log.h"
#include "evidence/what_if.h"

namespace memtape {

/// A change that can be pasted, and its effect on the bytes.
struct Remedy {
  std::string change;  ///< "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"
  std::string effect;
  std::optional<Bytes> bytes;  ///< the reserved peak with the change, or the bytes that it frees
  bool is_enough = false;      ///< the request that failed would be served with it
};

struct ExplainedRecording {
  Recording recording;
  Held held;
  Account at_peak;
  /// For the groups of at_peak that are shown.
  std::vector<std::string> largest_places, largest_ops;
  std::vector<std::vector<std::string>> largest_stacks;
  Fragmentation fragmentation;  ///< at the failure, or, without one, where most was reserved
  Steps steps;
  std::vector<Leak> leaks;
  std::vector<std::string> leak_places;
  std::vector<WhatIf> what_ifs;
  std::vector<Remedy> remedies;
  std::string oom_place;  ///< the line whose request failed
};

struct ExplainedMessage {
  OomMessage message;
  std::vector<std::string> findings;  ///< plain sentences about where the device's memory was
  std::vector<Remedy> remedies;
};

/// One difference between a run and its prediction, with its cause.
struct Residual {
  std::string cause;
  Bytes bytes = 0;
  std::string where;
};

struct Explanation {
  std::string kind;  ///< "snapshot", "trace", "oom", "log", "nvidia-smi"
  std::vector<std::string> files;
  std::vector<ExplainedRecording> recordings;
  std::vector<ExplainedMessage> messages;
  std::vector<LogFigure> figures;  ///< those of logs, nvidia-smi and memory summaries
  std::optional<std::vector<Residual>> residual;
  std::string against;  ///< the prediction with which it was compared
  Levels predicted_peak;
  /// How many allocations the predicted step has, how many of them the recording has in order, and
  /// from which event on.
  std::size_t step_allocations = 0, step_allocations_found = 0, step_event = 0;
  std::string step_difference;
  std::vector<Bytes> predicted_step;  ///< what is allocated after each of its allocations
  std::vector<std::string> warnings;
};

inline constexpr std::size_t kLargestShown = 12;

ExplainedRecording explained(Recording recording);
/// `figures` are what the log around the message says, such as the size of the device.
ExplainedMessage explained(OomMessage message, const std::vector<LogFigure>& figures = {});

}  // namespace memtape
