// SPDX-License-Identifier: Apache-2.0
#include "framework/fsdp2/fsdp_state.h"

#include <utility>

#include "ghost/autograd/accumulate_grad.h"
#include "ghost/autograd/node.h"
#include "ghost/ops/views.h"

namespace memtape::fsdp2 {
namespace {

/// RegisterPostBackwardFunction: an identity of all arguments that want gradients, whose backward
/// ends the group's.
struct RegisterPostBackwardFunctionBackward final : ghost::Node {
  explicit RegisterPostBackwardFunctionBackward(ParamGroup& param_group)
      : Node("RegisterPostBackwardFunctionBackward"), group(param_group) {}
  void apply(ghost::Gradients& in, ghost::Gradients& out) override {
    group.post_backward();
    for (std::size_t i = 0; i < in.size(); ++i) out[i] = in[i];
  }
  void release() override {}
  ParamGroup& group;
};

}  // namespace

void UnitModule::before_argument(Tensor& argument) { unit_.before_argument(argument); }
void UnitModule::before_forward(Tensor&) { unit_.before_module(); }
void UnitModule::after_forward(Tensor& output) { unit_.after_module(*this, output); }
void UnitModule::after_further_output(Tensor& output) { unit_.after_further_output(output); }

void FsdpState::before_argument(Tensor& argument) {
  if (!modules_to_run_.empty()) return;
  cast_argument(argument);
  arguments_.push_back(&argument);
}

/// A unit that is computed again takes its arguments as they are, which fails where the first time
/// they were cast.
void FsdpState::cast_argument(Tensor& argument) const {
  const auto dtype = casts_arguments_to();
  if (!dtype || !argument.is_floating_point() || argument.dtype() == *dtype) return;
  if (state_ == TrainingState::pre_backward) return;
  if (context_.recomputes_layers)
    ghost::session().fail(
        {ErrorKind::unsupported,
         "fully_shard casts what this model's layers are given, but not when they are recomputed",
         "--gradient-checkpointing", "none, or \"cast_forward_inputs\": false"});
  argument = argument.to(*dtype);
}

/// _register_group_forward_hooks
void FsdpState::before_module() {
  if (!modules_to_run_.empty()) return;
  for (const UnitModule& module : modules_) modules_to_run_.push_back(&module);
  pre_forward(std::exchange(arguments_, {}));
}

void FsdpState::after_module(const UnitModule& module, Tensor& output) {
  std::erase(modules_to_run_, &module);
  if (modules_to_run_.empty()) post_forward({&output});
}

void FsdpState::root_before_forward() { pre_forward({}); }

void FsdpState::root_after_forward(const std::vector<Tensor*>& outputs) { post_forward(outputs); }

void FsdpState::lazy_init() {
  if (context_.initialized) return;
  context_.initialized = true;
  context_.comm.lazy_init();
  for (FsdpState* state : context_.all_states)
    if (state->group_) state->group_->comm = &context_.comm;
}

void FsdpState::pre_forward(const std::vector<Tensor*>& arguments) {
  if (state_ == TrainingState::pre_backward) {  // a checkpointed unit runs again
    if (group_ && !group_->is_unsharded()) {
      group_->unshard();
      group_->wait_for_unshard();
    }
    return;
  }
  state_ = TrainingState::forward;
  lazy_init();
  if (!context_.iter_forward_root) context_.iter_forward_root = this;
  if (group_) {
    group_->pre_forward();
    register_post_backward(arguments);
  }
  prefetch(forward_prefetch_, TrainingState::forward);
}

void FsdpState::register_post_backward(const std::vector<Tensor*>& arguments) {
  const ghost::Session& s = ghost::session();
  if (!s.grad_enabled || s.skipping) return;
  ghost::Ptr<RegisterPostBackwardFunctionBackward> node;
  for (Tensor* argument : arguments) {
    if (!argument->requires_grad()) continue;
    if (!node) node = ghost::make_node<RegisterPostBackwardFunctionBackward>(*group_);
    node->edges.push_back(ghost::gradient_edge(*argument));
    Tensor passed = ghost::alias(*argument, argument->sizes(), argument->strides());
    ghost::set_history(passed, node);
    *argument = std::move(passed);
  }
}

void FsdpState::post_forward(const std::vector<Tensor*>& outputs) {
  if (state_ == TrainingState::pre_backward) return;
  if (group_) group_->post_forward();
  for (Tensor* output : outputs) watch(*output);
  state_ = TrainingState::idle;
  Tensor all_gather_state;  // a local of the function, which frees it
  if (context_.iter_forward_root == this) {
    all_gather_state = std::exchange(context_.comm.all_gather_state, {});
    context_.iter_forward_root = nullptr;
  }
  if (!policy_.output_dtype) return;
  std::vector<Tensor> as_they_were;  // until tree_map has cast them all
  for (Tensor* output : outputs) {
    if (!output->defined() || !output->is_floating_point()) continue;
    as_they_were.push_back(*output);
    *output = output->to(*policy_.output_dtype);
  }
}

/// _register_pre_backward_hook. A leaf among the outputs is that of frozen embeddings of which
/// enable_input_require_grads asks a gradient.
void FsdpState::watch(Tensor& output) {
  if (!ghost::session().grad_enabled || !output.defined() || !output.requires_grad()) return;
  if (output.is_leaf()) leaf_accumulator_ = ghost::grad_accumulator(output);
  const ghost::Ptr<ghost::Node>& node =
      output.is_leaf() ? leaf_accumulator_ : output.impl().grad_fn;
  node->add_hooks().before.push_back([this](ghost::Gradients&) { pre_backward(); });
}

void FsdpState::pre_backward() {
  state_ = TrainingState::pre_backward;
  if (!context_.final_callback_queued) {
    context_.final_callback_queued = true;
    FsdpState* const root = context_.all_states.front();
    ghost::session().final_callbacks->push_back([root] { root->final_callback(); });
  }
  if (group_) group_->pre_backward(backward_prefetch_.empty());
  prefetch(backward_prefetch_, TrainingState::pre_backward);
}

void FsdpState::prefetch(const std::vector<FsdpState*>& others, TrainingState pass) {
  for (FsdpState* other : others)
    if (other->group_) other->group_->prefetch_unshard(pass);
}

/// _root_post_backward_final_callback
void FsdpState::final_callback() {
  for (FsdpState* state : context_.all_states) {
    ParamGroup* const group = state->group_.get();
    if (group && group->state != TrainingState::post_backward) group->post_backward();
    state->state_ = TrainingState::idle;
    state->leaf_accumulator_.reset();
    if (context_.is_last_backward) state->modules_to_run_.clear();  // _finalize_backward
    if (!group) continue;
    group->state = TrainingState::idle;
    if (context_.is_last_backward) group->finalize_backward();
  }
  if (context_.is_last_backward) {
    context_.comm.post_forward_order.clear();
    context_.comm.reduce_scatter_state.reset();
  }
  context_.final_callback_queued = false;
}

void FsdpState::set_gradient_sync(bool sync, bool reshards_after_backward) {
  if (!group_) return;
  group_->reduce_grads = sync;
  group_->reshard_after_backward = sync || reshards_after_backward;
}

}  // namespace memtape::fsdp2
