// SPDX-License-Identifier: Apache-2.0
// Pipeline schedules (megatron/core/pipeline_parallel/schedules.py): the order in which one rank
// runs the forwards and backwards of its chunks, which decides which micro-batches are alive at the
// same time. The receiver allocates the memory for a tensor from another stage before the tensor
// arrives. An output that was sent is freed at once (deallocate_pipeline_outputs).
#pragma once

#include <memory>
#include <vector>

#include "framework/megatron/language_model.h"
#include "ghost/autograd/micro_batches.h"

namespace memtape::megatron {

/// How many micro-batches of one stage's 1F1B are not followed, because there are thousands. Their
/// tensors live in the order of those before, but the allocator may put them elsewhere: blocks of
/// several sizes move round their places at their own pace, and seldom come to lie as they lay.
/// Interleaved stages follow all.
std::int64_t rounds_not_followed(const Arguments& a, std::int64_t pp_rank);

class Schedule {
 public:
  /// If `writes` is set, micro-batches that are like earlier ones may be written down instead of
  /// run.
  Schedule(Rank& rank, std::vector<std::unique_ptr<StageModel>>& chunks, std::int64_t pp_rank,
           bool writes);

  /// Runs all micro-batches of one step, forward and backward.
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
    std::int64_t stage = 0;  ///< the stage of the model, if a rank has several
    bool is_last = false;    ///< the last one of the chunk's forwards before this one's backward
  };
  friend class Interleaved;

  std::vector<Tensor*> kept_of(std::size_t chunk) const;
  static void mark(Phase phase, const Moment& at);
  void without_pipelining(int step);
  void one_forward_one_backward(int step);
  void finish_deferred();

  InFlight forward(std::size_t chunk, const Tensor& input, Moment at);
  Tensor run_forward(StageModel& chunk, const Tensor& input) const;
  /// Returns the gradient of the input, if there is one.
  Tensor backward(std::size_t chunk, const InFlight& flight, const Tensor& gradient, Moment at);
  /// deallocate_output_tensor, which frees the data and keeps the history.
  static void deallocate(const Tensor& output);
  static void average(const Tensor& loss);
  void report(const Tensor& loss);
  void scale_aux_losses();
  Tensor scaled(const Tensor& loss) const;
  Tensor received() const;

  Rank& rank_;
  std::vector<std::unique_ptr<StageModel>>& chunks_;
  std::int64_t pp_rank_;
  /// One for each chunk; empty if all micro-batches are run.
  std::vector<ghost::MicroBatches> passes_;
  /// The micro-batches that are not run and whose losses are still to come.
  std::int64_t skipped_ = 0;
  Tensor num_tokens_, scale_;
  Tensor aux_scale_;  ///< MoEAuxLossAutoScaler.main_loss_backward_scale
  std::vector<Tensor> reports_;
};

}  // namespace memtape::megatron
