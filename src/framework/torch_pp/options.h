// SPDX-License-Identifier: Apache-2.0
// The options of a pipeline of torch.distributed.pipelining, by their names there: the schedule
// (get_schedule_class), stages per rank, micro-batches (n_microbatches), whether step() returns the
// last stage's outputs; and how many layers each stage holds.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ghost/tensor.h"
#include "model/config.h"

namespace memtape {
struct TrainRecipe;
}

namespace memtape::torch_pp {

enum class ScheduleKind {
  gpipe,
  one_f_one_b,
  interleaved,
  looped_bfs,
  interleaved_zero_bubble,
  zbv_zero_bubble,
  dual_pipe_v
};
std::string_view name(ScheduleKind kind);

/// One stage a rank: PipelineScheduleSingle.
inline bool is_single(ScheduleKind kind) {
  return kind == ScheduleKind::gpipe || kind == ScheduleKind::one_f_one_b;
}
/// The second half of the stages runs back over the ranks.
inline bool is_v_shaped(ScheduleKind kind) {
  return kind == ScheduleKind::zbv_zero_bubble || kind == ScheduleKind::dual_pipe_v;
}
/// Gradients of inputs and of weights are formed apart.
inline bool splits_backward(ScheduleKind kind) {
  return kind == ScheduleKind::interleaved_zero_bubble || is_v_shaped(kind);
}

struct Options {
  ScheduleKind schedule = ScheduleKind::one_f_one_b;
  std::int64_t ranks = 1, stages_per_rank = 1, microbatches = 1;
  bool names_microbatches = false;  ///< else they are as many as the stages
  bool return_outputs = true;
  bool infers_shapes = false;  ///< stages were given no example of their input
  /// The program's own loss of an output and its targets; else cross entropy.
  std::function<ghost::Tensor(const ghost::Tensor& output, const ghost::Tensor& target)> loss;
  bool loss_in_float = true;         ///< cross_entropy(logits.flatten(0, 1).float())
  std::vector<std::int64_t> layers;  ///< of each stage; empty: as many in each

  std::int64_t stages() const { return ranks * stages_per_rank; }
};

/// What a program calls these options.
struct OptionNames {
  const char *schedule = "--strategy: schedule", *stages_per_rank = "--strategy: stages_per_rank",
             *microbatches = "--strategy: microbatches";
};

/// get_schedule_class: names are taken in any case.
Result<ScheduleKind> find_schedule(std::string_view wanted, const OptionNames& names = {});
/// What the schedules' constructors demand of stages and micro-batches.
Result<void> check_schedule(const Options& options, const OptionNames& names = {});

Result<Options> read_options(const TrainRecipe& recipe);
/// The recipe with its micro-batches as its gradient accumulation, which they are.
TrainRecipe resolved(TrainRecipe recipe);

/// How many layers each stage holds of a model of `layers`; what does not divide is an error.
Result<std::vector<std::int64_t>> layers_by_stage(const Options& options, std::int64_t layers);

}  // namespace memtape::torch_pp
