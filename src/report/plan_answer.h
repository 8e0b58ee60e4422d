// SPDX-License-Identifier: Apache-2.0
// PlanAnswer: the answer of `memtape plan` as plain values, in the words of the JSON contract.
// Every plan in it was run, rank by rank; of those with many micro-batches behind the first one, a
// step of fewer. Its times are estimates, so they are ranges.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "option/given.h"
#include "outcome/answer_parts.h"
#include "outcome/verdict_word.h"

namespace memtape {

struct SecondsRange {
  double low = 0.0, mid = 0.0, high = 0.0;
};

/// A part of a step's time: "computation", "pipeline bubble", "tensor parallel messages".
struct PlanTime {
  std::string name;
  double seconds = 0.0;
};

/// What a stage of the pipeline computes for the micro-batches of a step, in order. A backward that
/// is split, for inputs and for weights, is two passes.
struct PlanStage {
  struct Pass {
    bool is_backward = false;
    double start = 0.0, end = 0.0;  ///< seconds since the step's first forward
  };
  std::vector<Pass> passes;

  /// The seconds in which it computes backward, or forward.
  double seconds(bool is_backward) const {
    double sum = 0.0;
    for (const Pass& pass : passes)
      if (pass.is_backward == is_backward) sum += pass.end - pass.start;
    return sum;
  }
};

/// When the last stage is done. What a stage does not compute until then it waits.
inline double end_of(const std::vector<PlanStage>& stages) {
  double end = 0.0;
  for (const PlanStage& stage : stages)
    for (const PlanStage::Pass& pass : stage.passes) end = std::max(end, pass.end);
  return end;
}

struct PlanRow {
  NamedValues layout;  ///< the options that it sets, as the command line spells them
  std::string words;   ///< the same in words: "tp 8 · pp 16 · dp 128"
  std::string framework;
  std::string model;  ///< of a server, whose checkpoint may be another than the one that was named
  std::int64_t gpus = 1;
  std::int64_t instances = 1;      ///< the number of servers that are alike
  std::int64_t micro_batches = 1;  ///< those of a step on each data parallel rank
  SecondsRange step_seconds;
  /// The time to the first token and the time for each further one, of a server.
  std::optional<SecondsRange> ttft, tpot;
  std::optional<std::int64_t> users;  ///< the users whom a server holds at the same time
  double tokens_per_second = 0.0;     ///< the sum over all GPUs
  std::optional<double> mfu;          ///< absent if the GPU's peak is not known
  std::vector<PlanTime> time;
  std::vector<PlanStage> stages;           ///< of the first plan, if it has a pipeline
  std::optional<Bytes> peak_device_bytes;  ///< of the fullest rank; absent if it is not modelled
  /// The micro-batches of the step whose bytes these are, where those of a whole one lie near.
  std::optional<std::int64_t> run_micro_batches;
  /// What the plan needs on a smaller GPU, where cached segments go back to the driver in every
  /// step to make room. It is absent if that is not necessary.
  std::optional<Bytes> within_limit_bytes;
  std::optional<Bytes> headroom_bytes;
  std::optional<bool> fits;
  std::optional<VerdictWord> verdict;
  int peak_rank = 0;
  std::optional<double> cost_per_hour;
  /// What the plan gives up in training: "adapters instead of all weights"; or ""
  std::string sacrifice;
  std::vector<std::string> command;  ///< memtape's, which answers for this layout
  /// What launches it, DIR being the folder that --export writes; or "" if it is not exported.
  std::string launch;

  /// Whether it fits for certain and without giving segments back.
  bool fits_well() const {
    return fits.value_or(true) && !within_limit_bytes &&
           verdict.value_or(VerdictWord::fits) == VerdictWord::fits;
  }
};

/// A plan that would be faster and does not fit.
struct WhyNot {
  PlanRow plan;
  Bytes missing_bytes = 0;
  int rank = 0;
};

/// A layout that people expect, of a kind that no plan shown is of.
struct ExpectedLayout {
  std::string what;  ///< "Without a pipeline"
  PlanRow plan;
  double more = 0.0;             ///< of plan 1's time: 0.14 is 14 % longer
  bool is_of_all_ranks = false;  ///< else its memory is that of its rank 0
};

/// A file that launches a plan, or that the launched program reads.
struct PlanFile {
  std::string name, text;
  bool runs = false;  ///< whether it can be started
};

struct PlanAnswer {
  std::string question = "train";
  ModelSummary model;
  std::vector<Setting> workload;
  std::optional<DeviceSummary> device;
  std::string objective;
  std::vector<PlanRow> plans;  ///< the best first
  /// The first one is the layout whose sizes were all said, the others are its variants.
  bool asked_first = false;
  /// Indices into `plans` of those that no plan beats in both time and memory.
  std::vector<std::size_t> pareto;
  std::vector<WhyNot> why_not;
  std::vector<ExpectedLayout> expected;
  std::int64_t screened = 0, bounded = 0, confirmed = 0;
  bool stopped = false;  ///< it was interrupted, so these are the best so far
  std::string time_source;
  std::vector<std::string> warnings;
  std::vector<PlanFile> files;   ///< those of the plan that is to be written, if any
  std::size_t written_plan = 0;  ///< the number of that plan, counted from 1

  bool fits() const { return !plans.empty() && plans.front().fits.value_or(true); }
};

}  // namespace memtape
