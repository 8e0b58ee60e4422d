// SPDX-License-Identifier: Apache-2.0
// Pipeline schedules (megatron/core/pipeline_parallel/schedules.py): in which order one rank runs
// the forwards and backwards of its chunks, and which micro-batches are alive meanwhile. A tensor
// from another stage is memory that the receiver takes before it arrives; a sent output is let go
// of at once (deallocate_pipeline_outputs).
#pragma once

#include <memory>
#include <vector>

#include "framework/megatron/language_model.h"

namespace memtape::megatron {

class Schedule {
 public:
  Schedule(Rank& rank, std::vector<std::unique_ptr<StageModel>>& chunks, std::int64_t pp_rank)
      : rank_(rank), chunks_(chunks), pp_rank_(pp_rank) {}

  /// All micro-batches of one step, forward and backward.
  void run(int step);
  /// config.grad_scale_func: the optimizer's scale_loss.
  void scale_loss_by(const Tensor& scale) { scale_ = scale; }

 private:
  struct InFlight {
    Tensor input, output;
  };
  struct Moment {
    int step = 0;
    std::int64_t micro_batch = 0;
  };
  friend class Interleaved;

  void without_pipelining(int step);
  void one_forward_one_backward(int step);
  void finish_deferred();

  InFlight forward(StageModel& chunk, const Tensor& input, Moment at);
  /// The gradient of the input, if there is one.
  Tensor backward(StageModel& chunk, const InFlight& flight, const Tensor& gradient, Moment at);
  /// deallocate_output_tensor: the data goes, the history stays.
  static void deallocate(const Tensor& output);
  void report(const Tensor& loss);
  Tensor scaled(const Tensor& loss) const;
  Tensor received() const;

  Rank& rank_;
  std::vector<std::unique_ptr<StageModel>>& chunks_;
  std::int64_t pp_rank_;
  std::int64_t skipped_ = 0;  ///< micro-batches that are not run, whose losses are still to come
  Tensor num_tokens_, scale_;
  std::vector<Tensor> reports_;
};

}  // namespace memtape::megatron
