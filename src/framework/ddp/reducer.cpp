// SPDX-License-Identifier: Apache-2.0
#include "framework/ddp/reducer.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "framework/ddp/unused_parameters.h"
#include "ghost/autograd/accumulate_grad.h"
#include "ghost/ops/copies.h"
#include "ghost/ops/views.h"

namespace memtape::ddp {
namespace {

using ghost::Op;
using ghost::Tensor;

constexpr Bytes kNoLimit = std::numeric_limits<Bytes>::max();

/// contents.as_strided(...): a view without history.
Tensor view_of(const Tensor& contents, const Tensor& like) {
  return ghost::alias(contents, like.sizes(), like.strides());
}

/// _ddp_init_helper: one bucket for all, unless unused parameters are looked for; in reverse.
std::vector<Places> first_buckets(const std::vector<Tensor>& parameters, const Options& options) {
  const bool in_one = options.static_graph || !options.find_unused_parameters;
  std::vector<Places> buckets = ordered_buckets_by_size(
      parameters, in_one ? BucketLimits{kNoLimit, kNoLimit}
                         : BucketLimits{options.first_bucket_bytes(), options.bucket_bytes_cap()});
  std::reverse(buckets.begin(), buckets.end());
  return buckets;
}

}  // namespace

Reducer::Reducer(std::vector<Tensor> parameters, const Options& options)
    : parameters_(std::move(parameters)), options_(options), got_gradient_(parameters_.size()) {
  initialize_buckets(first_buckets(parameters_, options_));
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    accumulators_.push_back(ghost::grad_accumulator(parameters_[i]));
    accumulators_.back()->add_hooks().after.push_back([this, i] { autograd_hook(i); });
  }
  // initialize_local_used_map; _set_static_graph makes it anew, too.
  const ghost::Op op("empty", {});
  const auto count = static_cast<std::int64_t>(parameters_.size());
  if (options_.find_unused_parameters)
    local_used_map_ = ghost::empty({count}, DType::int32, Category::communication);
  if (options_.static_graph)
    local_used_map_ = ghost::empty({count}, DType::int32, Category::communication);
}

void Reducer::initialize_buckets(std::vector<Places> assignment) {
  buckets_.clear();
  locators_.assign(parameters_.size(), {});
  const Category category =
      options_.gradient_as_bucket_view ? Category::gradient : Category::communication;
  for (Places& places : assignment) {
    const Op op("empty", {});
    std::int64_t elements = 0;
    for (std::size_t place : places) elements += parameters_[place].numel();
    Bucket bucket;
    bucket.contents = ghost::empty({elements}, parameters_[places.front()].dtype(), category);
    for (std::size_t i = 0; i < places.size(); ++i) {
      const Tensor& parameter = parameters_[places[i]];
      bucket.views.push_back(view_of(bucket.contents, parameter));
      locators_[places[i]] = {buckets_.size(), i};
      if (options_.gradient_as_bucket_view && parameter.impl().grad)
        parameter.impl().grad = bucket.views.back().ptr();
    }
    bucket.places = std::move(places);
    buckets_.push_back(std::move(bucket));
  }
}

void Reducer::ensure_prior_reduction_finished() const {
  if (!requires_finalize_) return;
  ghost::session().fail({ErrorKind::bad_input,
                         "parameters that the loss does not depend on get no gradient, for which "
                         "DistributedDataParallel waits",
                         "--strategy: find_unused_parameters", "true"});
}

void Reducer::rebuild_buckets() {
  ensure_prior_reduction_finished();
  if (!may_rebuild() || arrived_.empty()) return;
  std::vector<Tensor> in_order;
  for (std::size_t place : arrived_) in_order.push_back(parameters_[place]);
  std::vector<Places> buckets =
      buckets_by_size(in_order, {options_.first_bucket_bytes(), options_.bucket_bytes_cap()});
  for (Places& bucket : buckets)
    for (std::size_t& place : bucket) place = arrived_[place];
  {
    // sync_bucket_indices: places and sizes of the buckets are broadcast by way of the device.
    const Op op("empty", {});
    const auto count = static_cast<std::int64_t>(parameters_.size()) + 1;
    const Tensor indices = ghost::empty({count}, DType::int32);
    begin_collective();
    const Tensor sizes = ghost::empty({static_cast<std::int64_t>(buckets.size())}, DType::int32);
  }
  has_rebuilt_ = true;
  arrived_.clear();
  initialize_buckets(std::move(buckets));
}

void Reducer::prepare_for_backward(const std::vector<Tensor>& outputs) {
  expects_hooks_ = true;
  next_bucket_ = 0;
  for (Bucket& bucket : buckets_) bucket.pending = bucket.places.size();
  has_marked_unused_ = false;
  ready_.assign(parameters_.size(), false);
  if (options_.searches_unused()) unused_ = unused_parameters(outputs, accumulators_);
}

void Reducer::autograd_hook(std::size_t place) {
  if (!expects_hooks_) return;
  got_gradient_[place] = true;
  if (first_static_iteration()) return;
  mark_unused_parameters();
  if (may_rebuild()) arrived_.push_back(place);
  mark_variable_ready(place);
}

/// With the first gradient of a backward those that will not come are taken to be there.
void Reducer::mark_unused_parameters() {
  if (has_marked_unused_) return;
  has_marked_unused_ = true;
  for (const std::size_t place : unused_) mark_variable_ready(place);
}

/// mark_variable_ready_dense: copied and divided in one go.
void Reducer::copy_into_bucket(std::size_t place) {
  const Locator at = locators_[place];
  Tensor& view = buckets_[at.bucket].views[at.within];
  ghost::TensorImpl& leaf = parameters_[place].impl();
  if (!leaf.grad || !options_.gradient_as_bucket_view) return;
  if (leaf.grad->storage != view.impl().storage) leaf.grad = view.ptr();
}

/// checkAndRaiseMarkedTwiceError: reentrant checkpointing hides its part of the graph from the
/// search, and makes backwards of its own.
void Reducer::raise_if_marked_twice(std::size_t place) const {
  if (!ready_[place]) return;
  ghost::session().fail({ErrorKind::bad_input,
                         "DistributedDataParallel expects each parameter's gradient once, and not "
                         "of one that its search took for unused",
                         "--gradient-checkpointing", "full"});
}

void Reducer::mark_variable_ready(std::size_t place) {
  raise_if_marked_twice(place);
  if (ready_[place]) return;
  ready_[place] = true;
  requires_finalize_ = true;
  copy_into_bucket(place);
  --buckets_[locators_[place].bucket].pending;
  while (next_bucket_ < buckets_.size() && buckets_[next_bucket_].pending == 0) {
    all_reduce(buckets_[next_bucket_]);
    if (++next_bucket_ == buckets_.size() && ghost::session().final_callbacks)
      ghost::session().final_callbacks->push_back([this] {
        if (options_.static_graph && may_rebuild())
          arrived_.insert(arrived_.end(), unused_.begin(), unused_.end());
        finalize_backward();
      });
  }
}

/// run_comm_hook: in place, or through a copy in the hook's dtype.
void Reducer::all_reduce(Bucket& bucket) {
  if (!options_.hook || !options_.hook->compresses_to) return;
  bucket.compressed = bucket.contents.to(*options_.hook->compresses_to);
  begin_collective();
}

void Reducer::delay_all_reduce() {
  for (std::size_t place = 0; place < parameters_.size(); ++place) {
    if (!got_gradient_[place]) unused_.push_back(place);
    copy_into_bucket(place);
  }
  for (Bucket& bucket : buckets_) all_reduce(bucket);
  finalize_backward();
}

/// Results are copied back into the gradients; one that nobody made is a clone of its view
/// (copy_bucket_to_grad).
void Reducer::finalize_backward() {
  expects_hooks_ = false;
  requires_finalize_ = false;
  for (Bucket& bucket : buckets_)
    if (bucket.compressed.defined()) held_by_group_.push_back(std::move(bucket.compressed));
}

}  // namespace memtape::ddp
