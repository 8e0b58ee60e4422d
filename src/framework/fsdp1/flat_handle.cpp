// SPDX-License-Identifier: Apache-2.0
#include "framework/fsdp1/flat_handle.h"

#include <algorithm>

#include "ghost/ops/creation.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/padding.h"
#include "ghost/ops/views.h"
#include "ghost/session.h"
#include "mesh/shards.h"

namespace memtape::fsdp1 {
namespace {

using ghost::GradMode;
using ghost::Op;

void free_storage(const Tensor& tensor) {
  if (tensor.impl().storage) ghost::session().release(*tensor.impl().storage);
}

void alloc_storage(const Tensor& tensor) {
  const Op op("resize_", {});
  ghost::session().refill(*tensor.impl().storage, tensor.nbytes());
}

/// A tensor whose storage is given back at once: what its place will later be filled with.
Tensor emptied(std::int64_t numel, DType dtype, Category category) {
  const Op op("empty", {});
  Tensor tensor = ghost::empty({numel}, dtype, category);
  free_storage(tensor);
  return tensor;
}

/// FlatParamHandle._validate_tensors_to_flatten
void check_alike(const std::vector<Tensor>& parameters, bool use_orig_params) {
  const Tensor& first = parameters.front();
  const auto differs = [&](const auto& of) {
    return std::ranges::any_of(parameters, [&](const Tensor& p) { return of(p) != of(first); });
  };
  if (differs([](const Tensor& p) { return p.dtype(); }))
    ghost::session().fail({ErrorKind::bad_input,
                           "parameters of several dtypes make no flat parameter", "--weights",
                           "one dtype, or units that hold one"});
  if (!use_orig_params && differs([](const Tensor& p) { return p.requires_grad(); }))
    ghost::session().fail({ErrorKind::bad_input,
                           "parameters that are trained and others make no flat parameter",
                           "use_orig_params", "true"});
}

}  // namespace

FlatHandle::FlatHandle(const std::vector<Tensor>& parameters, std::int64_t rank,
                       const Options& options)
    : options_(options),
      shards_(options.is_sharded() ? options.mesh.size("shard") : 1),
      index_(options.is_sharded() ? options.mesh.coordinate(rank, "shard") : 0),
      orig_dtype_(parameters.front().dtype()),
      param_dtype_(options.param_dtype.value_or(orig_dtype_)),
      reduce_dtype_(options.reduce_dtype.value_or(options.param_dtype.value_or(orig_dtype_))),
      parameters_(parameters) {
  const GradMode no_grad(false);
  check_alike(parameters, options.use_orig_params);
  std::vector<std::int64_t> sizes;
  for (const Tensor& parameter : parameters) sizes.push_back(parameter.numel());
  layout_ = flat_layout(sizes, options, param_dtype_);
  local_numel_ = padded_shard(layout_.numel, shards_);
  flatten(parameters);
  flat = ghost::alias(local_shard_, {local_numel_}, {1});
  flat.impl().base.reset();
  flat.impl().requires_grad = std::any_of(parameters.begin(), parameters.end(),
                                          [](const Tensor& p) { return p.requires_grad(); });
  if (options.use_orig_params) make_orig_params(parameters);
}

/// flatten_tensors_into_flat_param, then shard().
void FlatHandle::flatten(const std::vector<Tensor>& parameters) {
  std::vector<Tensor> side_by_side;
  for (const FlatPiece& piece : layout_.pieces) {
    if (piece.parameter) {
      side_by_side.push_back(parameters[*piece.parameter].view({-1}));
      continue;
    }
    const Tensor ones = ghost::ones({piece.numel}, orig_dtype_);
    side_by_side.push_back(ones.mul(42.0));
  }
  Tensor whole = ghost::cat(side_by_side, 0);
  side_by_side.clear();
  if (options_.is_sharded()) {
    const std::int64_t held = shard(layout_.numel, shards_, index_);
    local_shard_ = whole.slice(0, 0, held).clone();
    if (held < local_numel_) local_shard_ = ghost::pad_last(local_shard_, 0, local_numel_ - held);
    whole.reset();
  } else {
    local_shard_ = whole;
  }
  for (const Tensor& parameter : parameters) parameter.impl().storage.reset();
  if (options_.cpu_offload) {
    const ghost::HostGuard host;
    local_shard_ = ghost::empty({local_numel_}, orig_dtype_);
  }
  ghost::session().set_category(local_shard_, Category::parameter);
}

void FlatHandle::make_orig_params(const std::vector<Tensor>& parameters) {
  const std::int64_t first = index_ * local_numel_;
  const std::vector<FlatLayout::Part> parts = layout_.within(first, first + local_numel_);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Tensor& parameter = parameters[i];
    OrigParam orig{.parameter = parameter, .piece = {}, .offset = parts[i].begin - first};
    const std::int64_t held = parts[i].length();
    const Dims sizes = options_.is_sharded() ? Dims{held} : parameter.sizes();
    orig.piece = ghost::alias(local_shard_, sizes, ghost::contiguous_strides(sizes));
    orig.piece.impl().base.reset();
    if (held == 0) orig.piece.impl().storage.reset();
    orig.piece.impl().requires_grad = parameter.requires_grad();
    orig_params.push_back(std::move(orig));
  }
}

void FlatHandle::upcast() {
  if (!flat.requires_grad() || orig_dtype_ == DType::float32) return;
  const GradMode no_grad(false);
  const Tensor whole = local_shard_.to(DType::float32);
  ghost::session().set_category(whole, Category::parameter);
  if (holds_orig_params()) {  // param.data = ... moves the flat parameter alone
    seen_by_orig_params_ = ghost::alias(local_shard_, local_shard_.sizes(), local_shard_.strides());
    seen_by_orig_params_.impl().base.reset();
  }
  orig_dtype_ = DType::float32;
  const auto move = [&](const Tensor& tensor) {
    tensor.impl().storage = whole.impl().storage;
    tensor.impl().dtype = orig_dtype_;
  };
  move(local_shard_);
  move(flat);
  for (const OrigParam& orig : orig_params) {
    if (orig.piece.numel() > 0) move(orig.piece);
    orig.piece.impl().dtype = orig_dtype_;
  }
}

Bytes FlatHandle::held_bytes() const {
  const std::int64_t first = index_ * local_numel_;
  std::int64_t held = 0;
  for (const FlatLayout::Part& part : layout_.within(first, first + local_numel_))
    held += part.length();
  return bytes_of(orig_dtype_, held);
}

void FlatHandle::init_attributes() {
  if (casts()) mp_shard_ = emptied(local_numel_, param_dtype_, Category::communication);
  if (!options_.is_sharded()) return;
  full_padded_ = emptied(local_numel_ * shards_, param_dtype_, Category::parameter);
  if (casts())
    full_precision_padded_ = emptied(local_numel_ * shards_, orig_dtype_, Category::parameter);
}

void FlatHandle::set_data(const Tensor& source, const Dims& sizes) {
  ghost::TensorImpl& impl = flat.impl();
  impl.storage = source.impl().storage;
  impl.dtype = source.dtype();
  impl.sizes = sizes;
  impl.strides = ghost::contiguous_strides(sizes);
  is_local_ = source.ptr() == local_shard_.ptr();
}

bool FlatHandle::needs_unshard() const {
  return options_.is_sharded() && full_padded_.impl().storage->is_empty;
}

void FlatHandle::pre_unshard() {
  if (options_.is_sharded() && !options_.cpu_offload && !needs_unshard()) return;
  if (casts()) {
    alloc_storage(mp_shard_);
    if (options_.cpu_offload) {
      const Op op("_to_copy", {});
      const Tensor moved = ghost::empty({local_numel_}, orig_dtype_, Category::communication);
    }
    set_data(mp_shard_, {local_numel_});
  } else if (options_.cpu_offload && is_local_) {
    const Op op("_to_copy", {});
    const Tensor moved = ghost::empty({local_numel_}, orig_dtype_, Category::communication);
    set_data(moved, {local_numel_});
    if (holds_orig_params()) seen_by_orig_params_ = moved;
  }
}

/// Whether this rank's shard has a part of any parameter.
bool FlatHandle::holds_orig_params() const {
  return std::any_of(orig_params.begin(), orig_params.end(),
                     [](const OrigParam& orig) { return orig.piece.numel() > 0; });
}

void FlatHandle::unshard() {
  ghost::Session& s = ghost::session();
  if (needs_unshard()) {
    alloc_storage(full_padded_);
    if (options_.cpu_offload) s.record_stream(flat, s.stream);
  }
  if (options_.is_sharded()) set_data(full_padded_, {layout_.numel});
  if (state != TrainingState::forward) return show_dtype(flat.dtype());
  const GradMode enable_grad(true);
  use_unsharded_views();
}

/// _use_unsharded_views: splits of the flat parameter, seen in the parameters' shapes.
void FlatHandle::use_unsharded_views() {
  std::vector<std::int64_t> lengths;
  for (const FlatPiece& piece : layout_.pieces) lengths.push_back(piece.numel);
  const std::vector<Tensor> splits = flat.split(lengths, 0);
  for (std::size_t i = 0; i < splits.size(); ++i) {
    if (!layout_.pieces[i].parameter) continue;
    ghost::TensorImpl& impl = parameters_[*layout_.pieces[i].parameter].impl();
    const Tensor view = splits[i].view(impl.sizes);
    impl.storage = view.impl().storage;
    impl.dtype = view.dtype();
    impl.strides = view.strides();
    impl.requires_grad = false;
    impl.grad_fn = view.impl().grad_fn;
    impl.output_nr = view.impl().output_nr;
  }
}

void FlatHandle::post_unshard() {
  if (!casts() || !options_.is_sharded()) return;
  ghost::session().record_stream(mp_shard_, ghost::session().stream);
  free_storage(mp_shard_);
}

void FlatHandle::summon() {
  if (!options_.is_sharded()) return;
  const Tensor& whole = casts() ? full_precision_padded_ : full_padded_;
  alloc_storage(whole);
  set_data(whole, {layout_.numel});
  use_unsharded_views();
  seen_by_orig_params_.reset();  // as_params=True
}

void FlatHandle::end_summon() {
  if (!options_.is_sharded()) return;
  set_data(local_shard_, {local_numel_});
  free_storage(casts() ? full_precision_padded_ : full_padded_);
  show_dtype(orig_dtype_);
}

/// _use_sharded_flat_param: parameters that are not cut again behind a forward keep their views,
/// and what they have seen of the shard with them.
bool FlatHandle::skips_sharded_views() const {
  return ghost::session().grad_enabled && state == TrainingState::forward &&
         options_.is_sharded() && !options_.reshards_after_forward();
}

void FlatHandle::reshard(bool free_unsharded) {
  ghost::Session& s = ghost::session();
  set_data(local_shard_, {local_numel_});
  if (!skips_sharded_views()) seen_by_orig_params_.reset();
  if (free_unsharded) {
    s.record_stream(full_padded_, s.stream);
    free_storage(full_padded_);
  }
  if (casts() && !options_.is_sharded()) {
    s.record_stream(mp_shard_, s.stream);
    free_storage(mp_shard_);
  }
  prefetched = false;
  show_dtype(orig_dtype_);
}

void FlatHandle::show_dtype(DType dtype) {
  for (const OrigParam& orig : orig_params) orig.parameter.impl().dtype = dtype;
}

void FlatHandle::use_sharded_grad_views(const Tensor& grad) {
  for (OrigParam& orig : orig_params) {
    orig.piece.impl().grad.reset();
    if (!grad.defined() || orig.piece.numel() == 0 || !orig.piece.requires_grad()) continue;
    const Tensor view = ghost::alias(grad, orig.piece.sizes(), orig.piece.strides());
    view.impl().base.reset();
    orig.piece.impl().grad = view.ptr();
  }
}

void FlatHandle::use_unsharded_grad_views() {
  const GradMode no_grad(false);
  const Tensor whole = flat.grad();
  for (OrigParam& orig : orig_params) {
    if (!orig.piece.impl().grad) const Tensor moment = ghost::empty_like(orig.piece, orig_dtype_);
    const Tensor view = ghost::alias(whole, orig.parameter.sizes(),
                                     ghost::contiguous_strides(orig.parameter.sizes()));
    view.impl().base.reset();
    orig.piece.impl().grad = view.ptr();
  }
}

void FlatHandle::reset_grad_if_unused() {
  if (!options_.use_orig_params) return;
  for (const OrigParam& orig : orig_params)
    if (orig.piece.impl().grad) return;
  flat.impl().grad.reset();
}

void FlatHandle::prepare_gradient_for_backward() {
  const Tensor grad = flat.grad();
  if (!grad.defined() || grad.numel() == layout_.numel) return;
  if (!options_.cpu_offload) saved_grad_shard = grad;
  flat.impl().grad.reset();
}

void FlatHandle::prepare_gradient_for_optim() {
  if (!options_.is_sharded() && cpu_grad.defined()) flat.impl().grad = cpu_grad.ptr();
  if (!saved_grad_shard.defined()) return;
  if (post_backward_called) flat.impl().grad = sharded_grad().ptr();
  saved_grad_shard.reset();
}

}  // namespace memtape::fsdp1
