// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "framework/torch_pp/schedule.h"

namespace memtape::torch_pp {
namespace {

/// Tensors that P2POps name.
using Sends = std::vector<Tensor>;

/// ScheduleGPipe: all forwards, then all backwards.
class GPipe final : public Schedule {
 public:
  using Schedule::Schedule;

 private:
  void step_microbatches() override {
    PipelineStage& stage = *stages().front();
    Sends ops;
    Tensor output;
    for (std::int64_t i = 0; i < microbatches(); ++i) {
      ops.clear();  // now those that receive
      output = forward(stage, i);
      ops = stage.forward_sends(static_cast<std::size_t>(i));
      send(ops);
      maybe_compute_loss(stage, output, i);
    }
    for (std::int64_t i = 0; i < microbatches(); ++i) {
      ops.clear();
      backward(stage, i, BackwardPart::full);
      ops = stage.backward_sends(static_cast<std::size_t>(i));
      send(ops);
    }
    reduce_gradients(stage);
  }
};

/// Schedule1F1B: forwards until the first backward can begin, then one backward and one forward in
/// turn. Names that still hold what was sent: fwd_sends until the next forward's, bwd_sends until
/// the next backward's.
class OneForwardOneBackward final : public Schedule {
 public:
  using Schedule::Schedule;

 private:
  void step_microbatches() override {
    PipelineStage& stage = *stages().front();
    const std::int64_t warmup = std::min(microbatches(), stage_count() - stage.index());
    Sends fwd_sends, bwd_sends;
    Tensor output;
    std::int64_t forwards = 0, backwards = 0;
    const auto one_forward = [&] {
      output = forward(stage, forwards);
      maybe_compute_loss(stage, output, forwards);
      fwd_sends = stage.forward_sends(static_cast<std::size_t>(forwards++));
      send(fwd_sends);
    };
    const auto one_backward = [&] { backward(stage, backwards, BackwardPart::full); };
    const auto take_gradient = [&] {
      bwd_sends = stage.backward_sends(static_cast<std::size_t>(backwards++));
      send(bwd_sends);
    };
    while (forwards < warmup) one_forward();
    while (true) {
      one_backward();
      take_gradient();
      if (forwards == microbatches()) break;
      one_forward();
    }
    while (backwards < microbatches()) {
      one_backward();
      take_gradient();
    }
    reduce_gradients(stage);
  }
};

}  // namespace

std::unique_ptr<Schedule> make_one_stage_schedule(
    const Options& options, std::vector<std::unique_ptr<PipelineStage>>& stages,
    const Activations& activations) {
  if (options.schedule == ScheduleKind::gpipe)
    return std::make_unique<GPipe>(options, stages, activations);
  return std::make_unique<OneForwardOneBackward>(options, stages, activations);
}

}  // namespace memtape::torch_pp
