// SPDX-License-Identifier: Apache-2.0
#include "framework/torch_pp/schedule.h"

#include "ghost/ops/joins.h"
#include "ghost/ops/loss.h"
#include "ghost/session.h"

namespace memtape::torch_pp {
namespace {

void mark(Phase phase, int step, std::int64_t microbatch, const PipelineStage& stage) {
  ghost::session().mark(phase, step, static_cast<int>(microbatch), static_cast<int>(stage.index()));
}

}  // namespace

void Schedule::step(int number, const Tensor& tokens, std::vector<Tensor>& losses) {
  number_ = number;
  tokens_ = tokens;
  for (const auto& stage : stages_) stage->clear_runtime_states();
  initialize_stages();
  step_microbatches();
  losses.swap(internal_losses_);
  internal_losses_.clear();
  for (const auto& stage : stages_)
    if (stage->is_last() && options_.return_outputs)
      const Tensor merged = ghost::cat(stage->output_chunks(), 0);  // _merge_outputs; not kept
  tokens_.reset();
}

void Schedule::initialize_stages() {
  if (initialized_) return;
  initialized_ = true;
  std::vector<Tensor> all_ops;
  for (const auto& stage : stages_) stage->add_init_ops(all_ops);
  send(all_ops);
  for (const auto& stage : stages_) {
    if (options_.infers_shapes) stage->infer_shapes(chunk(0), activations_);
    stage->prepare_forward_infra(microbatches(), activations_);
  }
  for (const auto& stage : stages_) stage->prepare_backward_infra(microbatches(), activations_);
}

/// torch.tensor_split of the batch: a view.
Tensor Schedule::chunk(std::int64_t microbatch) const {
  const std::int64_t size = tokens_.size(0) / microbatches();
  return tokens_.slice(0, microbatch * size, (microbatch + 1) * size);
}

void Schedule::maybe_compute_loss(const PipelineStage& stage, const Tensor& output,
                                  std::int64_t microbatch) {
  if (!stage.is_last()) return;
  if (options_.loss) {
    internal_losses_.push_back(options_.loss(output, chunk(microbatch)));
    return;
  }
  const Tensor target = chunk(microbatch).view({-1});
  Tensor flat = output.view({-1, output.size(-1)});
  internal_losses_.push_back(
      ghost::cross_entropy(options_.loss_in_float ? std::move(flat).to_float() : flat, target));
}

Tensor Schedule::forward(PipelineStage& stage, std::int64_t microbatch) {
  mark(Phase::forward, number_, microbatch, stage);
  return stage.forward_one_chunk(static_cast<std::size_t>(microbatch), chunk(microbatch),
                                 options_.return_outputs);
}

void Schedule::backward(PipelineStage& stage, std::int64_t microbatch, BackwardPart part) {
  mark(Phase::backward, number_, microbatch, stage);
  const auto at = static_cast<std::size_t>(microbatch);
  stage.backward_one_chunk(at, stage.is_last() ? internal_losses_[at] : Tensor(), part);
}

void Schedule::send(const std::vector<Tensor>& tensors) const {
  for (const Tensor& tensor : tensors)
    if (tensor.defined()) ghost::session().record_stream(tensor, communication_);
}

void Schedule::backward_weight(PipelineStage& stage, std::int64_t microbatch) {
  mark(Phase::backward, number_, microbatch, stage);
  stage.backward_weight_one_chunk(static_cast<std::size_t>(microbatch));
}

}  // namespace memtape::torch_pp
