// SPDX-License-Identifier: Apache-2.0
// Pipeline schedules (megatron/core/pipeline_parallel/schedules.py): in which order one rank runs
// the forwards and backwards of its chunks, and which micro-batches are alive meanwhile. A tensor
// from another stage is memory that the receiver takes before it arrives; a sent output is let go
// of at once (deallocate_pipeline_outputs).
#pragma once

#include <memory>
#include <vector>

#include "framework/megatron/gpt_model.h"

namespace memtape::megatron {

class Schedule {
 public:
  Schedule(Rank& rank, std::vector<std::unique_ptr<GptModel>>& chunks, std::int64_t pp_rank)
      : rank_(rank), chunks_(chunks), pp_rank_(pp_rank) {}

  /// All micro-batches of one step, forward and backward.
  void run(int step);

 private:
  struct InFlight {
    Tensor input, output;
  };
  void without_pipelining(int step);
  void one_forward_one_backward(int step);
  void interleaved(int step);
  void finish_deferred();

  struct Moment {
    int step = 0;
    std::int64_t micro_batch = 0;
  };
  InFlight forward(GptModel& chunk, Moment at);
  /// The gradient of the input, if there is one.
  Tensor backward(GptModel& chunk, const InFlight& flight, Moment at);
  void report(const Tensor& loss);
  MicroBatch batch(const GptModel& chunk) const;
  Tensor received() const;
  /// The chunk that the k-th forward (or backward) of the interleaved schedule runs.
  std::size_t chunk_of(std::int64_t k, bool forward) const;

  Rank& rank_;
  std::vector<std::unique_ptr<GptModel>>& chunks_;
  std::int64_t pp_rank_;
  Tensor output_grad_;  ///< output_tensor_grad
  Tensor num_tokens_;
  std::vector<Tensor> reports_;
};

}  // namespace memtape::megatron
