// SPDX-License-Identifier: Apache-2.0
// The options of a pipeline of torch.distributed.pipelining, under their names there: the schedule
// (get_schedule_class), the stages on each rank, the micro-batches (n_microbatches), whether step()
// returns the outputs of the last stage, and how many layers each stage holds.
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

/// Each rank has one stage: PipelineScheduleSingle.
inline bool is_single(ScheduleKind kind) {
  return kind == ScheduleKind::gpipe || kind == ScheduleKind::one_f_one_b;
}
/// The second half of the stages goes back over the ranks.
inline bool is_v_shaped(ScheduleKind kind) {
  return kind == ScheduleKind::zbv_zero_bubble || kind == ScheduleKind::dual_pipe_v;
}
/// The gradients of inputs and of weights are computed separately.
inline bool splits_backward(ScheduleKind kind) {
  return kind == ScheduleKind::interleaved_zero_bubble || is_v_shaped(kind);
}

struct Options {
  ScheduleKind schedule = ScheduleKind::one_f_one_b;
  std::int64_t ranks = 1, stages_per_rank = 1, microbatches = 1;
  bool names_microbatches = false;  ///< false: there are as many as stages
  bool return_outputs = true;
  bool infers_shapes = false;  ///< stages are given no example of their input
  /// The program's own loss of an output and its targets. If it is empty, it is cross entropy.
  std::function<ghost::Tensor(const ghost::Tensor& output, const ghost::Tensor& target)> loss;
  bool loss_in_float = true;         ///< cross_entropy(logits.flatten(0, 1).float())
  std::vector<std::int64_t> layers;  ///< those of each stage; empty: all stages have equally many

  std::int64_t stages() const { return ranks * stages_per_rank; }
};

/// The names that a program has for these options.
struct OptionNames {
  const char *schedule = "--strategy: schedule", *stages_per_rank = "--strategy: stages_per_rank",
             *microbatches = "--strategy: microbatches";
};

/// get_schedule_class, which ignores the case of names.
Result<ScheduleKind> find_schedule(std::string_view wanted, const OptionNames& names = {});
/// Checks what the constructors of schedules demand of stages and micro-batches.
Result<void> check_schedule(const Options& options, const OptionNames& names = {});

/// Reads --strategy into the recipe's own part.
Result<void> read_strategy(std::string_view json, TrainRecipe& recipe);
/// The options that the recipe says, with what its layout decides.
Result<Options> options_of(const TrainRecipe& recipe);
/// The recipe whose gradient accumulation is its number of micro-batches, since these are the same.
TrainRecipe resolved(TrainRecipe recipe);

}  // namespace memtape::torch_pp
