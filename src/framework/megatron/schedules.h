// SPDX-License-Identifier: Apache-2.0
// Pipeline schedules (megatron/core/pipeline_parallel/schedules.py): in which order one rank runs
// the forwards and backwards of its chunks, and which micro-batches are alive meanwhile. A tensor
// from another stage is memory that the receiver takes before it arrives; a sent output is let go
// of at once (deallocate_pipeline_outputs).
#pragma once

#include <memory>
#include <vector>

#include "framework/megatron/language_model.h"
#include "ghost/autograd/micro_batches.h"

namespace memtape::megatron {

class Schedule {
 public:
  /// `writes`: micro-batches like those before them may be written down instead of run.
  Schedule(Rank& rank, std::vector<std::unique_ptr<StageModel>>& chunks, std::int64_t pp_rank,
           bool writes);

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
    std::int64_t stage = 0;  ///< of the model, where a rank has several
    bool is_last = false;    ///< of the chunk's forwards before this one runs backwards
  };
  friend class Interleaved;

  std::vector<Tensor*> kept_of(std::size_t chunk) const;
  static void mark(Phase phase, const Moment& at);
  void without_pipelining(int step);
  void one_forward_one_backward(int step);
  void finish_deferred();

  InFlight forward(std::size_t chunk, const Tensor& input, Moment at);
  Tensor run_forward(StageModel& chunk, const Tensor& input) const;
  /// The gradient of the input, if there is one.
  Tensor backward(std::size_t chunk, const InFlight& flight, const Tensor& gradient, Moment at);
  /// deallocate_output_tensor: the data goes, the history stays.
  static void deallocate(const Tensor& output);
  static void average(const Tensor& loss);
  void report(const Tensor& loss);
  void scale_aux_losses();
  Tensor scaled(const Tensor& loss) const;
  Tensor received() const;

  Rank& rank_;
  std::vector<std::unique_ptr<StageModel>>& chunks_;
  std::int64_t pp_rank_;
  std::vector<ghost::MicroBatches> passes_;  ///< by chunk; none where every one is run
  std::int64_t skipped_ = 0;  ///< micro-batches that are not run, whose losses are still to come
  Tensor num_tokens_, scale_;
  Tensor aux_scale_;  ///< MoEAuxLossAutoScaler.main_loss_backward_scale
  std::vector<Tensor> reports_;
};

}  // namespace memtape::megatron
