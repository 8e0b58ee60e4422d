// SPDX-License-Identifier: Apache-2.0
// Schedule: step() of a pipeline schedule on one rank (torch/distributed/pipelining/schedules.py).
// The order of the actions decides which micro-batches are alive. The names in a step's Python
// frame, and the sends for which it has not waited, decide how much longer tensors live.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "framework/torch_pp/options.h"
#include "framework/torch_pp/pipeline_stage.h"

namespace memtape::torch_pp {

class Schedule {
 public:
  Schedule(const Options& options, std::vector<std::unique_ptr<PipelineStage>>& stages,
           const Activations& activations)
      : options_(options), stages_(stages), activations_(activations) {}
  virtual ~Schedule() = default;
  Schedule(const Schedule&) = delete;
  Schedule& operator=(const Schedule&) = delete;

  /// schedule.step(tokens, target=tokens, losses=losses) in step number `number`.
  void step(int number, const Tensor& tokens, std::vector<Tensor>& losses);

 protected:
  virtual void step_microbatches() = 0;

  // Each of these marks its micro-batch on the tape.
  Tensor forward(PipelineStage& stage, std::int64_t microbatch);
  /// Computes the loss from the output of the last stage.
  void maybe_compute_loss(const PipelineStage& stage, const Tensor& output,
                          std::int64_t microbatch);
  void backward(PipelineStage& stage, std::int64_t microbatch, BackwardPart part);
  void backward_weight(PipelineStage& stage, std::int64_t microbatch);
  /// batch_isend_irecv: NCCL's stream uses these tensors (record_stream), so when they are freed
  /// their memory waits for that stream. Nothing else holds them.
  void send(const std::vector<Tensor>& tensors) const;
  /// _PipelineStageBase.perform_reduce_grad, which runs after the last backward of a stage.
  static void reduce_gradients(PipelineStage& stage) { stage.module().reduce_gradients(); }

  std::int64_t microbatches() const { return options_.microbatches; }
  std::int64_t stage_count() const { return options_.stages(); }
  std::vector<std::unique_ptr<PipelineStage>>& stages() { return stages_; }

 private:
  void initialize_stages();
  Tensor chunk(std::int64_t microbatch) const;

  const Options& options_;
  std::vector<std::unique_ptr<PipelineStage>>& stages_;
  Activations activations_;
  StreamId communication_ = ghost::session().make_stream();
  bool initialized_ = false;
  int number_ = 0;
  Tensor tokens_;
  std::vector<Tensor> internal_losses_;
};

/// ScheduleGPipe and Schedule1F1B, which have one stage on this rank.
std::unique_ptr<Schedule> make_one_stage_schedule(
    const Options& options, std::vector<std::unique_ptr<PipelineStage>>& stages,
    const Activations& activations);

/// _PipelineScheduleRuntime, which runs the orders of all other schedules.
std::unique_ptr<Schedule> make_schedule_runtime(const Options& options, std::int64_t rank,
                                                std::vector<std::unique_ptr<PipelineStage>>& stages,
                                                const Activations& activations);

}  // namespace memtape::torch_pp
