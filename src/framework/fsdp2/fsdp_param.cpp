// SPDX-License-Identifier: Apache-2.0
#include "framework/fsdp2/fsdp_param.h"

#include <utility>

#include "ghost/autograd/node.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/views.h"
#include "ghost/session.h"
#include "mesh/shards.h"

namespace memtape::fsdp2 {
namespace {

using ghost::Op;

/// A tensor in host memory.
Tensor on_host(const Dims& sizes, DType dtype) {
  const ghost::HostGuard host;
  return ghost::empty(sizes, dtype);
}

/// The casts that a policy really asks for (init_dtype_attrs).
std::optional<DType> unless_same(std::optional<DType> wanted, DType other) {
  return wanted && *wanted != other ? wanted : std::nullopt;
}

}  // namespace

FsdpParam::FsdpParam(const Tensor& parameter, ShardPlace place, const Options& options)
    : unsharded(parameter),
      orig_dtype(parameter.dtype()),
      shard_dim_(options.shard_dim),
      offloads_(options.cpu_offload) {
  const MixedPrecision& policy = options.mixed_precision;
  param_dtype = unless_same(policy.param_dtype, orig_dtype);
  if (policy.reduce_dtype != policy.param_dtype) reduce_dtype = policy.reduce_dtype;

  Dims padded = parameter.sizes();
  padded[shard_dim_] = padded_shard(rows(), place.shards);
  Dims own = parameter.sizes();
  own[shard_dim_] = shard(rows(), place.shards, place.index);
  const ghost::Session& s = ghost::session();
  const ghost::Storage* const whole = parameter.impl().storage.get();
  const ghost::ScopeGuard scope(whole ? s.tape.why[whole->block].scope : s.scope);
  const ghost::GradMode no_grad(false);
  sharded_data_ = ghost::zeros(padded, orig_dtype, Category::parameter);
  if (offloads_) sharded_data_ = on_host(padded, orig_dtype);
  sharded = ghost::alias(sharded_data_, own, ghost::contiguous_strides(own));
  if (ghost::numel(own) == 0) sharded.impl().storage.reset();
  sharded.impl().requires_grad = parameter.requires_grad();
  original_ = parameter.impl().storage;
}

void FsdpParam::drop_original() {
  ghost::TensorImpl& impl = unsharded.impl();
  impl.storage.reset();
  impl.dtype = gathered_dtype();
  original_.reset();
}

/// DTensor's local tensor comes in its own size; where that is not the padded one, the first
/// forward makes it so (FSDPParam.reset_sharded_param).
void FsdpParam::to_empty() {
  const ghost::GradMode no_grad(false);
  if (offloads_) return;
  const Op op("empty_like", {});
  Tensor made = ghost::empty(sharded.sizes(), orig_dtype, Category::parameter);
  if (sharded.numel() != sharded_data_.numel())
    made = ghost::zeros(sharded_data_.sizes(), orig_dtype, Category::parameter);
  sharded_data_.impl().storage = made.impl().storage;
  if (sharded.numel() > 0) sharded.impl().storage = made.impl().storage;
}

void FsdpParam::share_shard(const FsdpParam& other) {
  sharded = other.sharded;
  if (sharded.numel() == sharded_data_.numel()) sharded_data_ = other.sharded_data_;
}

Tensor FsdpParam::all_gather_input() const {
  Tensor data = gather_source();
  if (offloads_ && !post_forward_data_.defined()) {
    const Op op("_to_copy", {});
    data = ghost::empty(data.sizes(), data.dtype(), Category::communication);
  }
  return data.to(gathered_dtype());
}

void FsdpParam::alloc_all_gather_output(std::int64_t elements) {
  if (!all_gather_output_.defined()) {
    const Op op("empty", {});
    const ghost::ScopeGuard scope(ghost::session().scope);
    all_gather_output_ = ghost::empty({elements}, gathered_dtype(), Category::parameter);
    unsharded.impl().storage = all_gather_output_.impl().storage;
  } else if (const auto& storage = all_gather_output_.impl().storage;
             storage && storage->is_empty) {
    const Op op("resize_", {});
    ghost::session().refill(*storage, all_gather_output_.nbytes());
  }
}

void FsdpParam::free_unsharded_param() {
  if (all_gather_output_.defined() && all_gather_output_.impl().storage)
    ghost::session().release(*all_gather_output_.impl().storage);
}

void FsdpParam::keep_post_forward(std::int64_t shards) {
  const Op op("clone", {});
  post_forward_data_ =
      ghost::empty({all_gather_output_.numel() / shards}, gathered_dtype(), Category::parameter);
}

void FsdpParam::accumulate_unsharded_grad() {
  if (unsharded_accumulated_grad_.defined()) unsharded.impl().grad.reset();
}

void FsdpParam::to_accumulated_grad() {
  const Tensor grad = unsharded.grad();
  if (!reduce_dtype || !grad.defined() || grad.dtype() == *reduce_dtype) return;
  unsharded.impl().grad.reset();
  unsharded_accumulated_grad_ = grad.to(*reduce_dtype);
  ghost::session().set_category(unsharded_accumulated_grad_, Category::gradient);
}

Tensor FsdpParam::take_unsharded_grad() {
  if (unsharded_accumulated_grad_.defined()) return std::exchange(unsharded_accumulated_grad_, {});
  Tensor grad = unsharded.grad();
  unsharded.impl().grad.reset();
  return grad;
}

void FsdpParam::take_sharded_grad(const Tensor& reduced) {
  if (sharded.impl().grad) return;  // added in place
  if (offloads_) {
    sharded.impl().grad = on_host(sharded.sizes(), orig_dtype).ptr();
    return;
  }
  Tensor grad = ghost::alias(reduced, sharded.sizes(), sharded.strides());
  ghost::session().set_category(reduced, Category::gradient);
  sharded.impl().grad = grad.ptr();
}

}  // namespace memtape::fsdp2
