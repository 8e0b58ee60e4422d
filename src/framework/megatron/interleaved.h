// SPDX-License-Identifier: Apache-2.0
// Interleaved: forward_backward_pipelining_with_interleaving of pipeline_parallel/schedules.py.
// get_schedule_table says to which chunks the k-th forward and the k-th backward belong. Members of
// the same names hold what the names of the Python loop hold at each moment.
#pragma once

#include <deque>
#include <vector>

#include "framework/megatron/schedules.h"

namespace memtape::megatron {

class Interleaved {
 public:
  Interleaved(Schedule& schedule, int step);
  void run();

 private:
  /// Whether a tensor arrives while step k runs, and for which chunk.
  struct Arrival {
    bool comes = false;
    std::size_t chunk = 0;
  };
  Arrival arrival(std::int64_t k, bool forward) const;
  std::size_t chunk_of(std::int64_t k, bool forward) const;
  bool ends_forward(std::int64_t k) const;  ///< it ends in the loss, so nothing is sent on
  /// It starts at the embeddings, so nothing is sent back.
  bool starts_backward(std::int64_t k) const;

  /// The moment of the chunk's next forward, and that of its next backward.
  Schedule::Moment forward_moment(std::size_t chunk);
  Schedule::Moment backward_moment(std::size_t chunk);
  std::int64_t stage_of(std::size_t chunk) const;

  Tensor forward_step(std::int64_t k);
  Tensor backward_step(std::int64_t k);
  void warmup(std::int64_t k);
  void steady_overlapped(std::int64_t k);
  void steady(std::int64_t k);
  void cooldown(std::int64_t k);
  /// Takes a tensor for this arrival, if there is one, and puts it at the end of its chunk's queue.
  Tensor receive_input(const Arrival& from);
  void receive_gradient(const Arrival& from);

  Schedule& schedule_;
  const Arguments& a_;
  int step_;
  bool first_rank_, last_rank_;
  std::int64_t chunks_, total_, warmup_;
  std::vector<std::deque<Tensor>> input_tensors_, output_tensors_, output_tensor_grads_;
  /// When the micro-batches of a chunk run, and how many have begun and ended.
  struct Turns {
    std::vector<std::int64_t> forwards, backwards;
    std::size_t begun = 0, ended = 0;
  };
  std::vector<Turns> turns_;
  Tensor input_tensor_, output_tensor_, input_tensor_grad_, output_tensor_grad_;
};

}  // namespace memtape::megatron
