// SPDX-License-Identifier: Apache-2.0
#include "framework/fsdp2/param_group.h"
#include "framework/fsdp2/copy_tables.h"

#include <utility>

#include "ghost/autograd/node.h"
#include "ghost/session.h"

namespace memtape::fsdp2 {

using ghost::GradMode;
using ghost::Op;
using ghost::StreamGuard;

void CommContext::lazy_init() {
  ghost::Session& s = ghost::session();
  copy_in_stream = s.make_stream();
  s.make_stream();  // the gathers' own: nothing is allocated on it
  reduce_scatter_stream = s.make_stream();
  all_reduce_stream = s.make_stream();
}

ParamGroup::ParamGroup(const std::vector<Tensor>& parameters, std::int64_t rank,
                       const Options& options)
    : shards_(options.mesh.size("shard")),
      shard_dim_(options.shard_dim),
      replicates_(options.mesh_has_replicas || options.mesh.size("replicate") > 1),
      divides_gradients_(options.divides_gradients),
      reshard_to_(options.reshard_to),
      local_gradient_(options.local_gradient),
      post_accumulate_(options.post_accumulate),
      reshards_after_forward_(options.reshard_after_forward.value_or(true)) {
  const ShardPlace place{shards_, options.mesh.coordinate(rank, "shard")};
  for (const Tensor& parameter : parameters) params.emplace_back(parameter, place, options);
  for (FsdpParam& param : params) param.drop_original();
}

std::int64_t ParamGroup::gathering_shards() const {
  return is_sharded_post_forward_ ? *reshard_to_ : shards_;
}

void ParamGroup::unshard(Gather gather) {
  if (has_gathered_ || is_unsharded_) return;
  has_gathered_ = true;
  if (shards_ > 1) foreach_all_gather(gather);
}

/// _get_param_all_gather_inputs and the copy-in: cast shards first, then the buffer of all.
void ParamGroup::foreach_all_gather(Gather gather) {
  const GradMode no_grad(false);
  std::optional<StreamGuard> stream;
  if (gather == Gather::ahead) stream.emplace(comm->copy_in_stream);
  std::vector<Tensor> inputs;
  std::int64_t elements = 0, cast_elements = 0;
  for (const FsdpParam& param : params) {
    elements += param.gather_source().numel();
    if (param.uses_foreach_copy())
      cast_elements += param.gather_source().numel();
    else
      inputs.push_back(param.all_gather_input());
  }
  const Op op("empty", {});
  const DType dtype = params.front().gathered_dtype();
  if (cast_elements > 0)
    inputs.push_back(ghost::empty({cast_elements}, dtype, Category::communication));
  all_gather_output_ =
      ghost::empty({elements * gathering_shards()}, dtype, Category::communication);
}

void ParamGroup::wait_for_unshard() {
  if (!has_gathered_) return;
  Tensor previous;  // lives until this function returns
  if (state == TrainingState::forward) previous = std::exchange(comm->all_gather_state, {});
  shards_ == 1 ? copy_single() : copy_out();
  if (is_sharded_post_forward_)
    for (FsdpParam& param : params) param.drop_post_forward();
  is_unsharded_ = true;
  is_sharded_post_forward_ = false;
  has_gathered_ = false;
  if (state == TrainingState::forward && shards_ > 1) comm->all_gather_state = all_gather_output_;
  all_gather_output_.reset();
}

void ParamGroup::copy_out() {
  std::vector<Tensor> temporaries;  // from which the pieces are put side by side
  for (FsdpParam& param : params) {
    const std::int64_t elements = param.gather_source().numel() * gathering_shards();
    param.alloc_all_gather_output(elements);
    if (shard_dim_ == 0) continue;
    const Op op("empty_like", {});
    temporaries.push_back(
        ghost::empty({elements}, param.gathered_dtype(), Category::communication));
  }
  std::vector<Bytes> pieces;
  for (const FsdpParam& param : params)
    pieces.push_back(bytes_of(param.gathered_dtype(), param.gather_source().numel()));
  const Tensor table = split_copy_table(pieces, gathering_shards());
}

/// One rank: the shard, cast, is copied into the parameter.
void ParamGroup::copy_single() {
  const GradMode no_grad(false);
  Tensor input;
  for (FsdpParam& param : params) {
    input = param.all_gather_input();
    param.alloc_all_gather_output(input.numel());
  }
}

void ParamGroup::reshard() {
  if (state == TrainingState::forward && !reshards_after_forward_) return;
  if (!is_unsharded_) return;
  const bool to_smaller = state == TrainingState::forward && reshard_to_ && *reshard_to_ != shards_;
  const GradMode no_grad(false);
  for (FsdpParam& param : params) {
    if (to_smaller) param.keep_post_forward(*reshard_to_);
    param.free_unsharded_param();
  }
  is_sharded_post_forward_ = to_smaller;
  is_unsharded_ = false;
}

void ParamGroup::pre_forward() {
  state = TrainingState::forward;
  unshard();
  wait_for_unshard();
}

/// A unit inside of a checkpointed one runs again in the backward, which changes neither its shards
/// nor the order.
void ParamGroup::post_forward() {
  if (const bool is_backward = ghost::session().final_callbacks != nullptr; !is_backward) {
    reshard();
    post_forward_indices_.push_back(comm->post_forward_order.size());
    comm->post_forward_order.push_back(this);
  }
  state = TrainingState::idle;
}

void ParamGroup::pre_backward(bool default_prefetch) {
  if (state == TrainingState::pre_backward) return;
  state = TrainingState::pre_backward;
  unshard();
  wait_for_unshard();
  if (default_prefetch) prefetch_backward();
}

/// _backward_prefetch: the group that ran before this one in the forward.
void ParamGroup::prefetch_backward() {
  if (post_forward_indices_.empty()) return;
  const std::size_t index = post_forward_indices_.back();
  post_forward_indices_.pop_back();
  if (index == 0) return;
  comm->post_forward_order[index - 1]->prefetch_unshard(TrainingState::pre_backward);
}

void ParamGroup::prefetch_unshard(TrainingState pass) {
  const TrainingState before = std::exchange(state, pass);
  unshard();
  state = before;
}

void ParamGroup::post_backward() {
  state = TrainingState::post_backward;
  for (FsdpParam& param : params) param.accumulate_unsharded_grad();
  if (!reduce_grads) {
    if (reshard_after_backward) reshard();
    for (FsdpParam& param : params) param.to_accumulated_grad();
    return;
  }
  std::vector<FsdpParam*> with_grad;
  std::vector<Tensor> grads;
  for (FsdpParam& param : params) {
    Tensor grad = param.take_unsharded_grad();
    if (!grad.defined()) continue;
    if (local_gradient_) grad = local_gradient_(param.unsharded, std::move(grad));
    with_grad.push_back(&param);
    grads.push_back(std::move(grad));
  }
  if (reshard_after_backward) reshard();
  if (grads.empty()) return;
  comm->reduce_scatter_state.reset();
  all_reduce_input_.reset();
  foreach_reduce(with_grad, grads);
}

void ParamGroup::foreach_reduce(const std::vector<FsdpParam*>& with_grad,
                                std::vector<Tensor>& grads) {
  const GradMode no_grad(false);
  const Op op("empty", {});
  // The loop over the gradients leaves its variable behind.
  const Tensor last_grad = shards_ > 1 ? grads.back() : Tensor();
  if (shards_ > 1 && shard_dim_ != 0)
    for (Tensor& grad : grads) {  // its pieces, one below the other
      const Op cat("cat", {});
      grad = ghost::empty(grad.sizes(), grad.dtype());
    }
  const DType dtype = with_grad.front()->reduce_dtype.value_or(grads.front().dtype());
  const DType orig_dtype = with_grad.front()->orig_dtype;
  std::int64_t elements = 0;
  for (const FsdpParam* param : with_grad) elements += param->sharded_elements();
  Tensor input = ghost::empty({elements * shards_}, dtype, Category::communication);
  copy_in(with_grad, grads, dtype);
  Tensor output;
  {
    const StreamGuard stream(comm->reduce_scatter_stream);
    output = ghost::empty({elements}, dtype, Category::communication);
    if (shards_ == 1 && divides_gradients_)  // copied from the quotient
      const Tensor divided = ghost::empty({elements}, dtype, Category::communication);
  }
  const StreamGuard stream(replicates_ ? comm->all_reduce_stream : comm->reduce_scatter_stream);
  if (replicates_) all_reduce_input_ = output;
  output = std::move(output).to(orig_dtype);
  for (FsdpParam* param : with_grad) {
    param->take_sharded_grad(output);
    if (post_accumulate_) post_accumulate_(param->sharded);
  }
  comm->reduce_scatter_state = std::move(input);
}

/// foreach_reduce_scatter_copy_in: gradients of the dtype they are reduced in, or bf16 for fp32, go
/// through the fused kernel. Others are padded to equal pieces first, then joined (_pad_chunk of
/// aten/src/ATen/native/TensorShape.cpp).
void ParamGroup::copy_in(const std::vector<FsdpParam*>& with_grad, std::vector<Tensor>& grads,
                         DType dtype) const {
  const DType from = grads.front().dtype();
  const bool fused = from == dtype || (from == DType::bfloat16 && dtype == DType::float32);
  if (fused) {
    std::vector<Bytes> pieces;
    for (const FsdpParam* param : with_grad)
      pieces.push_back(bytes_of(dtype, param->sharded_elements()));
    const Tensor table = chunk_cat_table(pieces);
    return grads.clear();
  }
  std::vector<Tensor> padded;
  for (std::size_t i = 0; i < with_grad.size(); ++i) {
    const std::int64_t elements = with_grad[i]->sharded_elements() * shards_;
    if (elements != grads[i].numel()) padded.push_back(ghost::empty({elements}, from));
  }
  grads.clear();
}

void ParamGroup::finalize_backward() {
  all_reduce_input_.reset();
  has_gathered_ = false;
  all_gather_output_.reset();
  post_forward_indices_.clear();
}

}  // namespace memtape::fsdp2
