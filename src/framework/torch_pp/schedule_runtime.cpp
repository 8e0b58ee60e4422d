// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "framework/torch_pp/action_order.h"
#include "framework/torch_pp/schedule.h"

namespace memtape::torch_pp {
namespace {

/// Runs an order of actions. To a neighbour on the same rank tensors are handed over.
class ScheduleRuntime final : public Schedule {
 public:
  ScheduleRuntime(const Options& options, std::int64_t rank,
                  std::vector<std::unique_ptr<PipelineStage>>& stages,
                  const Activations& activations)
      : Schedule(options, stages, activations),
        order_(with_sharding(action_order(options, rank), options.microbatches)) {}

 private:
  void step_microbatches() override {
    for (const Slot& slot : order_) {
      for (const Action& action : slot) perform(action);
      for (const Action& action : slot) send_result(action);
    }
  }

  PipelineStage* find(std::int64_t stage) {
    for (const auto& candidate : stages())
      if (candidate->index() == stage) return candidate.get();
    return nullptr;
  }

  /// The actions on a whole stage's shards.
  static bool performed_on_shards(const Action& action, PipelineStage& stage) {
    switch (action.work) {
      case Work::unshard: stage.module().unshard(); return true;
      case Work::reshard: stage.module().reshard(); return true;
      case Work::reduce_grad: reduce_gradients(stage); return true;
      default: stage.module().wait_for_unshard(); return false;
    }
  }

  void perform(const Action& action) {
    PipelineStage& stage = *find(action.stage);
    if (performed_on_shards(action, stage)) return;
    const auto chunk = static_cast<std::size_t>(action.microbatch);
    if (action.work == Work::weight_backward) {
      backward_weight(stage, action.microbatch);
    } else if (action.work == Work::forward) {
      const Tensor output = forward(stage, action.microbatch);
      maybe_compute_loss(stage, output, action.microbatch);
      if (PipelineStage* next = find(action.stage + 1))
        next->set_local_forward_input(output, chunk);
    } else {
      const bool full = action.work == Work::full_backward;
      backward(stage, action.microbatch, full ? BackwardPart::full : BackwardPart::input);
      if (PipelineStage* before = find(action.stage - 1))
        before->set_local_backward_input(stage.take_local_backward_output(chunk), chunk);
    }
  }

  /// SEND_F, or SEND_B, which takes the gradient out of its cache and lets go of it.
  void send_result(const Action& action) {
    PipelineStage& stage = *find(action.stage);
    const auto chunk = static_cast<std::size_t>(action.microbatch);
    if (action.work == Work::forward) {
      if (!find(action.stage + 1)) send(stage.forward_sends(chunk));
    } else if (action.work == Work::full_backward || action.work == Work::input_backward) {
      if (!find(action.stage - 1)) send(stage.backward_sends(chunk));
    }
  }

  std::vector<Slot> order_;
};

}  // namespace

std::unique_ptr<Schedule> make_schedule_runtime(const Options& options, std::int64_t rank,
                                                std::vector<std::unique_ptr<PipelineStage>>& stages,
                                                const Activations& activations) {
  return std::make_unique<ScheduleRuntime>(options, rank, stages, activations);
}

}  // namespace memtape::torch_pp
