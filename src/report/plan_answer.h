// SPDX-License-Identifier: Apache-2.0
// PlanAnswer: the answer of `memtape plan` as plain values, in the words of the JSON contract.
// Every plan in it was confirmed exactly, rank by rank; its times are estimates and say so by their
// range.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "workload/answer_parts.h"
#include "workload/verdict_word.h"

namespace memtape {

struct SecondsRange {
  double low = 0.0, mid = 0.0, high = 0.0;
};

/// A part of a step's time: "computation", "pipeline bubble", "tensor parallel messages".
struct PlanTime {
  std::string name;
  double seconds = 0.0;
};

struct PlanRow {
  using Options = std::vector<std::pair<std::string, std::string>>;
  Options layout;     ///< the options that it sets, as the command line spells them
  std::string words;  ///< the same for people: "tp 8 · pp 16 · dp 128"
  std::string framework;
  std::int64_t gpus = 1;
  SecondsRange step_seconds;
  std::optional<SecondsRange> ttft, tpot;  ///< of a server
  std::optional<std::int64_t> users;       ///< that a server holds at a time
  double tokens_per_second = 0.0;          ///< of all GPUs
  std::optional<double> mfu;               ///< nothing where the GPU's peak is not known
  std::vector<PlanTime> time;
  std::optional<Bytes>
      peak_device_bytes;  ///< of the fullest rank; nothing where it is not modelled
  std::optional<Bytes> headroom_bytes;
  std::optional<bool> fits;
  std::optional<VerdictWord> verdict;
  int peak_rank = 0;
  std::optional<double> cost_per_hour;
  std::string sacrifice;  ///< what is trained otherwise: "adapters instead of all weights"; or ""
  std::vector<std::string> command;
};

/// A plan that would be faster and does not fit.
struct WhyNot {
  PlanRow plan;
  Bytes missing_bytes = 0;
  int rank = 0;
};

struct PlanAnswer {
  std::string question = "train";
  ModelSummary model;
  std::vector<Setting> workload;
  std::optional<DeviceSummary> device;
  std::string objective;
  std::vector<PlanRow> plans;       ///< best first
  std::vector<std::size_t> pareto;  ///< of `plans`: none is both faster and smaller
  std::vector<WhyNot> why_not;
  std::int64_t screened = 0, bounded = 0, confirmed = 0;
  bool stopped = false;  ///< interrupted: the best so far
  std::string time_source;
  std::vector<std::string> warnings;

  bool fits() const { return !plans.empty() && plans.front().fits.value_or(true); }
};

}  // namespace memtape
