// SPDX-License-Identifier: Apache-2.0
#include "framework/torch_pp/pipeline_stage.h"

#include <utility>

#include "ghost/session.h"

namespace memtape::torch_pp {
namespace {

Tensor received(const char* why, const Activations& activations) {
  const ghost::Op op(why, {});
  return ghost::empty(activations.sizes, activations.dtype, Category::communication);
}

}  // namespace

void PipelineStage::add_init_ops(std::vector<Tensor>& ops) const {
  Tensor recv, send;
  {
    const ghost::Op op("zeros", {});
    recv = ghost::empty({1}, DType::float32, Category::communication);
    send = ghost::empty({}, DType::float32, Category::communication);
  }
  if (is_first() && is_last()) return;
  ops.push_back(std::move(recv));
  ops.push_back(std::move(send));
}

void PipelineStage::infer_shapes(const Tensor& tokens, const Activations& activations) {
  const ghost::Op op("_shape_inference", {});
  const Tensor zeros = is_first() ? ghost::empty(tokens.sizes(), tokens.dtype())
                                  : ghost::empty(activations.sizes, activations.dtype);
  const ghost::GradMode no_grad(false);
  const Tensor output = module_.forward(zeros);
}

void PipelineStage::prepare_forward_infra(std::int64_t microbatches,
                                          const Activations& activations) {
  const auto count = static_cast<std::size_t>(microbatches);
  forward_cache_.resize(count);
  backward_cache_.resize(count);
  backward_state_.resize(count);
  args_recv_.resize(count);
  if (is_first()) return;
  for (Tensor& buffer : args_recv_) {
    buffer = received("recv_forward", activations);
    buffer.impl().requires_grad = true;
  }
}

void PipelineStage::prepare_backward_infra(std::int64_t microbatches,
                                           const Activations& activations) {
  grad_recv_.resize(static_cast<std::size_t>(microbatches));
  if (is_last()) return;
  for (Tensor& buffer : grad_recv_) buffer = received("recv_backward", activations);
}

void PipelineStage::clear_runtime_states() {
  for (Forward& cached : forward_cache_) cached = {};
  output_chunks_.clear();
  for (Tensor& buffer : args_recv_)
    if (buffer.defined()) buffer.impl().grad.reset();
}

Tensor PipelineStage::forward_one_chunk(std::size_t chunk, const Tensor& tokens,
                                        bool save_forward_output) {
  const Tensor input = is_first() ? tokens : args_recv_[chunk];
  Tensor output = module_.forward(input);
  if (is_last() && save_forward_output) output_chunks_.push_back(output);
  forward_cache_[chunk] = {output, input};
  return output;
}

void PipelineStage::backward_one_chunk(std::size_t chunk, const Tensor& loss, BackwardPart part) {
  Forward cached = std::exchange(forward_cache_[chunk], {});
  const Tensor root = is_last() ? loss : cached.output;
  const Tensor output_grad = is_last() ? Tensor() : grad_recv_[chunk];
  module_.begin_backward();
  if (part == BackwardPart::full) {
    backward_cache_[chunk] = stage_backward(root, output_grad, cached.input);
  } else {
    InputBackward done;  // the first stage has no input to find the gradient of: all waits
    if (!is_first())
      done = stage_backward_input(root, output_grad, cached.input, module_.parameters());
    backward_state_[chunk] = {cached.input, std::move(done.param_groups), root, output_grad};
    backward_cache_[chunk] = std::move(done.dinput);
  }
  // t.detach_() of the outputs, which nobody differentiates any more; views cannot be detached.
  if (is_last() && !is_first() && !cached.output.impl().base) detach_in_place(cached.output);
}

void PipelineStage::backward_weight_one_chunk(std::size_t chunk) {
  Delayed state = std::exchange(backward_state_[chunk], {});
  module_.begin_backward();
  if (is_first())
    stage_backward(state.stage_output, state.output_grad, state.input);
  else
    stage_backward_weight(state.param_groups);
}

std::vector<Tensor> PipelineStage::forward_sends(std::size_t chunk) const {
  if (is_last()) return {};
  return {forward_cache_[chunk].output};
}

std::vector<Tensor> PipelineStage::backward_sends(std::size_t chunk) {
  if (is_first()) return {};
  return {std::exchange(backward_cache_[chunk], {})};
}

void PipelineStage::set_local_forward_input(const Tensor& output, std::size_t chunk) {
  Tensor input = output.detach();
  input.impl().requires_grad = true;
  args_recv_[chunk] = std::move(input);
}

Tensor PipelineStage::take_local_backward_output(std::size_t chunk) {
  return std::exchange(backward_cache_[chunk], {});
}

void PipelineStage::set_local_backward_input(const Tensor& gradient, std::size_t chunk) {
  grad_recv_[chunk] = gradient;
}

}  // namespace memtape::torch_pp
