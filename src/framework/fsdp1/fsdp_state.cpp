// SPDX-License-Identifier: Apache-2.0
#include "framework/fsdp1/fsdp_state.h"

#include <utility>

#include "ghost/autograd/accumulate_grad.h"
#include "ghost/ops/padding.h"
#include "ghost/session.h"

namespace memtape::fsdp1 {

using ghost::GradMode;
using ghost::Op;
using ghost::Session;
using ghost::StreamGuard;

/// _lazy_init: streams, buffers in their dtype, and the handles' storages, given back at once.
void FsdpState::lazy_init(const std::vector<nn::ModuleNode::Named*>& buffers) {
  if (std::exchange(shared_.initialized, true)) return;
  Session& s = ghost::session();
  shared_.unshard_stream = s.make_stream();
  shared_.post_backward_stream = s.make_stream();
  shared_.pre_unshard_stream = s.make_stream();
  shared_.all_reduce_stream = shared_.options.is_hybrid() ? s.make_stream() : 0;
  if (shared_.options.buffer_dtype)
    for (nn::ModuleNode::Named* buffer : buffers) {
      if (!buffer->tensor.is_floating_point()) continue;
      const Tensor cast = buffer->tensor.to(*shared_.options.buffer_dtype);
      s.set_category(cast, Category::buffer);
      buffer->tensor.impl().storage = cast.impl().storage;
      buffer->tensor.impl().dtype = cast.dtype();
    }
  for (FsdpState* state : shared_.all_states)
    if (state->handle_) state->handle_->init_attributes();
}

void FsdpState::root_pre_forward(const std::vector<nn::ModuleNode::Named*>& buffers) {
  const GradMode no_grad(false);
  lazy_init(buffers);
  for (FsdpState* state : shared_.all_states) {
    if (!state->handle_) continue;
    if (shared_.options.forward_prefetch) {
      state->handle_->needs_pre_forward_unshard = true;
      state->handle_->prefetched = false;
    }
    state->handle_->reset_grad_if_unused();
  }
}

std::shared_ptr<void> FsdpState::summon(const std::vector<nn::ModuleNode::Named*>& buffers) {
  const GradMode no_grad(false);
  lazy_init(buffers);
  if (!handle_) return nullptr;
  handle_->reset_grad_if_unused();
  handle_->summon();
  return {nullptr, [this](void*) {
            const GradMode without_grad(false);
            handle_->end_summon();
          }};
}

void FsdpState::unshard(FlatHandle& handle) {
  const GradMode no_grad(false);
  {
    const StreamGuard stream(shared_.pre_unshard_stream);
    handle.pre_unshard();
  }
  const StreamGuard stream(shared_.unshard_stream);
  handle.unshard();
  handle.post_unshard();
}

void FsdpState::pre_forward(const Tensor* input) {
  const std::vector<Tensor*> arguments = std::exchange(arguments_, {});
  if (!handle_) return;
  if (handle_->state == TrainingState::backward_pre) return;
  if (shared_.iteration == 0 && !handle_->pre_forward_index) {
    handle_->pre_forward_index = shared_.pre_forward_order.size();
    shared_.pre_forward_order.push_back(handle_.get());
  }
  handle_->state = TrainingState::forward;
  if (!handle_->prefetched) unshard(*handle_);
  handle_->needs_pre_forward_unshard = false;
  prefetch(Prefetch::forward);
  register_post_backward_hook();
  cast_arguments(arguments);
  register_reshard_only_hook(input);
}

/// _cast_forward_inputs. A unit that is computed again takes them as they are.
void FsdpState::cast_arguments(const std::vector<Tensor*>& arguments) const {
  const auto dtype = shared_.options.param_dtype;
  if (!shared_.options.cast_forward_inputs || !dtype) return;
  for (Tensor* argument : arguments) {
    if (!argument->is_floating_point() || argument->dtype() == *dtype) continue;
    if (shared_.recomputes_layers)
      ghost::session().fail({ErrorKind::unsupported,
                             "FSDP casts what this model's layers are given, but not when they are "
                             "recomputed",
                             "--gradient-checkpointing", "none, or no cast_forward_inputs"});
    *argument = argument->to(*dtype);
  }
}

/// _register_post_backward_reshard_only_hook: of a unit that is not trained, when the gradient of
/// its input is there. A layer that is checkpointed reentrantly is given a leaf: the hook lies on
/// it and knows its AccumulateGrad, which holds the leaf and its gradient until _finalize_params
/// removes the hook (register_multi_grad_hook of torch/autograd/graph.py). Where the checkpoint lies
/// inside of the unit, the hook lies on the node before it instead, and holds nothing.
void FsdpState::register_reshard_only_hook(const Tensor* input) {
  if (!ghost::session().grad_enabled || handle_->flat.requires_grad()) return;
  if (std::exchange(handle_->reshards_with_input, true)) return;
  if (!input || !input->requires_grad()) return;
  ghost::Ptr<ghost::Node> node = input->impl().grad_fn;
  if (!node) {
    if (!shared_.options.checkpoints_inside) handle_->leaf_input = *input;
    node = handle_->leaf_accumulator = ghost::grad_accumulator(*input);
  }
  node->add_hooks().before.push_back([this](ghost::Gradients&) {
    handle_->state = TrainingState::backward_post;
    handle_->reshard(should_free_in_backward());
    prefetch(Prefetch::backward);
    if (shared_.options.checkpoints_inside) handle_->leaf_accumulator.reset();
  });
}

/// On the flat parameter's AccumulateGrad, in the first forward of an iteration.
void FsdpState::register_post_backward_hook() {
  if (!ghost::session().grad_enabled || handle_->accumulator || !handle_->flat.requires_grad())
    return;
  handle_->accumulator = ghost::grad_accumulator(handle_->flat);
  handle_->accumulator->add_hooks().after.push_back([this] { post_backward_hook(); });
}

void FsdpState::post_forward(const std::vector<Tensor*>& outputs) {
  if (handle_) {
    if (handle_->state == TrainingState::backward_pre) return;
    record_post_forward();
    handle_->reshard(!is_root_ && shared_.options.reshards_after_forward());
    check_shared_gradients();
    handle_->state = TrainingState::idle;
  }
  if (!ghost::session().grad_enabled) return;
  if (is_root_) shared_.callback_queued = false;
  if (handle_) {
    handle_->needs_pre_backward_unshard = false;
    handle_->ran_pre_backward = false;
  }
  for (Tensor* output : outputs) watch(*output);
}

/// _use_sharded_grad_views: of a shared parameter the second name gets the gradient of the first,
/// which autograd takes in the parameter's dtype alone. Without sharding it may be of an
/// accumulation that is not synchronised, in the dtype that computes.
void FsdpState::check_shared_gradients() const {
  const Tensor grad = handle_->flat.grad();
  if (shared_.options.is_sharded() || !shared_.options.use_orig_params ||
      !handle_->shares_parameters || !grad.defined() || grad.dtype() == handle_->orig_dtype())
    return;
  ghost::session().fail(
      {ErrorKind::bad_input,
       "PyTorch 2.11 fails on the low-precision gradients of tied parameters that "
       "accumulate without sharding",
       "--strategy: use_orig_params", "false, or no_sync false"});
}

/// _exec_order_utils.py: a unit keeps the place of its first forward in a step, unless that was the
/// first of all.
void FsdpState::record_post_forward() {
  if (handle_->post_forward_index.value_or(0) == 0)
    handle_->post_forward_index = shared_.post_forward_order.size();
  shared_.post_forward_order.push_back(handle_.get());
}

void FsdpState::after_further_output(Tensor& output) {
  const bool runs_again = handle_ && handle_->state == TrainingState::backward_pre;
  if (ghost::session().grad_enabled && !runs_again) watch(output);
}

/// _register_pre_backward_hooks
void FsdpState::watch(Tensor& output) {
  if (!output.defined() || !output.impl().grad_fn) return;
  output.impl().grad_fn->add_hooks().before.push_back(
      [this](ghost::Gradients&) { pre_backward_hook(); });
  if (handle_) handle_->needs_pre_backward_unshard = true;
}

void FsdpState::pre_backward_hook() {
  if (handle_ && handle_->ran_pre_backward) return;
  if (is_root_ && !std::exchange(shared_.callback_queued, true)) {
    ghost::session().final_callbacks->push_back([this] { final_callback(); });
    for (FsdpState* state : shared_.all_states)
      if (state->handle_) state->handle_->reset_grad_if_unused();
  }
  if (!handle_) return;
  handle_->state = TrainingState::backward_pre;
  if (handle_->needs_pre_backward_unshard && !handle_->prefetched) unshard(*handle_);
  handle_->needs_pre_backward_unshard = false;
  prefetch(Prefetch::backward);
  handle_->prepare_gradient_for_backward();
  handle_->ran_pre_backward = true;
}

void FsdpState::prefetch(Prefetch mode) {
  FlatHandle* const target = handle_to_prefetch();
  if (!target) return;
  const TrainingState before =
      std::exchange(target->state, mode == Prefetch::forward ? TrainingState::forward
                                                             : TrainingState::backward_pre);
  unshard(*target);
  target->state = before;
  target->prefetched = true;
}

FlatHandle* FsdpState::handle_to_prefetch() const {
  const BackwardPrefetch backward = shared_.options.backward_prefetch;
  const TrainingState now = handle_->state;
  if ((now == TrainingState::backward_pre && backward == BackwardPrefetch::pre) ||
      (now == TrainingState::backward_post && backward == BackwardPrefetch::post)) {
    if (handle_->post_forward_index.value_or(0) == 0) return nullptr;
    FlatHandle* const target = shared_.post_forward_order[*handle_->post_forward_index - 1];
    return target->needs_pre_backward_unshard && !target->prefetched ? target : nullptr;
  }
  if (now != TrainingState::forward || !shared_.options.forward_prefetch) return nullptr;
  const std::size_t next =
      handle_->pre_forward_index.value_or(shared_.pre_forward_order.size()) + 1;
  if (next >= shared_.pre_forward_order.size()) return nullptr;
  FlatHandle* const target = shared_.pre_forward_order[next];
  return target->needs_pre_forward_unshard && !target->prefetched ? target : nullptr;
}

/// Strategies that keep parameters after the forward keep them over accumulation, too.
bool FsdpState::should_free_in_backward() const {
  return shared_.options.is_sharded() &&
         (shared_.sync_gradients || shared_.options.reshards_after_forward());
}

void FsdpState::post_backward_hook() {
  const GradMode no_grad(false);
  Session& s = ghost::session();
  FlatHandle& handle = *handle_;
  handle.post_backward_called = true;
  handle.state = TrainingState::backward_post;
  if (!handle.flat.impl().grad) return;
  handle.reshard(should_free_in_backward());
  prefetch(Prefetch::backward);
  if (!shared_.sync_gradients) {
    if (shared_.options.use_orig_params) handle.use_unsharded_grad_views();
    return;
  }
  const StreamGuard stream(shared_.post_backward_stream);
  const Tensor computed = handle.flat.grad();
  if (computed.dtype() != handle.reduce_dtype())
    handle.flat.impl().grad = computed.to(handle.reduce_dtype()).ptr();
  shared_.options.is_sharded() ? reduce_grad() : reduce_grad_no_shard();
  s.record_stream(computed, shared_.post_backward_stream);
}

/// _reduce_grad: padded to equal chunks where use_orig_params has not padded the parameter already.
void FsdpState::reduce_grad() {
  FlatHandle& handle = *handle_;
  const Tensor unsharded = handle.flat.grad();
  handle.flat.impl().grad.reset();
  const std::int64_t padding =
      handle.local_numel() * shared_.options.mesh.size("shard") - unsharded.numel();
  const Tensor padded = padding > 0 ? ghost::pad_last(unsharded, 0, padding) : unsharded;
  Tensor sharded;
  {
    const Op op("empty_like", {});
    sharded = ghost::empty({handle.local_numel()}, unsharded.dtype(), Category::gradient);
  }
  if (!shared_.options.is_hybrid()) return accumulate_sharded_grad(std::move(sharded));
  const StreamGuard stream(shared_.all_reduce_stream);
  ghost::session().record_stream(sharded, shared_.all_reduce_stream);
  accumulate_sharded_grad(std::move(sharded));
}

void FsdpState::offload_grad(const Tensor& grad) {
  if (!shared_.options.cpu_offload) return;
  ghost::session().record_stream(grad, shared_.post_backward_stream);
  const ghost::HostGuard host;
  handle_->cpu_grad = ghost::empty(grad.sizes(), grad.dtype());
}

void FsdpState::accumulate_sharded_grad(Tensor grad) {
  Session& s = ghost::session();
  FlatHandle& handle = *handle_;
  if (grad.dtype() != handle.orig_dtype()) {
    const Tensor low = grad;
    grad = low.to(handle.orig_dtype());
    s.set_category(grad, Category::gradient);
    s.record_stream(low, s.stream);
  }
  if (!handle.saved_grad_shard.defined()) handle.saved_grad_shard = grad;
  offload_grad(grad);  // the shard stays until the backward ends
  if (shared_.options.use_orig_params) handle.use_sharded_grad_views(handle.sharded_grad());
}

void FsdpState::reduce_grad_no_shard() {
  Session& s = ghost::session();
  FlatHandle& handle = *handle_;
  const Tensor grad = handle.flat.grad();
  if (grad.dtype() != handle.orig_dtype()) {
    const Tensor whole = grad.to(handle.orig_dtype());
    s.set_category(whole, Category::gradient);
    handle.flat.impl().grad = whole.ptr();
    s.record_stream(grad, s.stream);
  }
  offload_grad(handle.flat.grad());
  if (!shared_.options.use_orig_params) return;
  handle.use_sharded_grad_views(handle.cpu_grad.defined() ? handle.cpu_grad : handle.flat.grad());
}

/// _post_backward_final_callback
void FsdpState::final_callback() {
  const GradMode no_grad(false);
  ++shared_.iteration;
  shared_.post_forward_order.clear();
  for (FsdpState* state : shared_.all_states) state->finalize();
  shared_.callback_queued = false;
}

void FsdpState::finalize() {
  if (!handle_) return;
  FlatHandle& handle = *handle_;
  if (!handle.is_local()) handle.reshard(should_free_in_backward());
  if (handle.accumulator) handle.accumulator->hooks.reset();
  handle.accumulator.reset();
  if (shared_.sync_gradients) {
    handle.prepare_gradient_for_optim();
    handle.post_backward_called = false;
  }
  handle.reshards_with_input = false;
  if (handle.leaf_accumulator) handle.leaf_accumulator->hooks.reset();
  handle.leaf_accumulator.reset();
  handle.leaf_input.reset();
  handle.ran_pre_backward = false;
  handle.needs_pre_backward_unshard = false;
  handle.post_forward_index.reset();
  handle.state = TrainingState::idle;
  handle.prefetched = false;
}

}  // namespace memtape::fsdp1
