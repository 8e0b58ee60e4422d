// SPDX-License-Identifier: Apache-2.0
#include "framework/deepspeed/stage_1_and_2.h"

#include <algorithm>
#include <utility>

#include "framework/deepspeed/basic_optimizer.h"
#include "framework/deepspeed/flat_tensors.h"
#include "framework/deepspeed/grad_health.h"
#include "ghost/autograd/accumulate_grad.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/pointwise.h"
#include "ghost/session.h"
#include "release/trainer_changes.h"

namespace memtape::deepspeed {
namespace {

using ghost::GradMode;
using ghost::HostGuard;
using ghost::Op;

/// _round_robin_reorder: each rank's turn in order, then the next rank's.
std::vector<Tensor> round_robin(const std::vector<Tensor>& parameters, std::int64_t partitions) {
  std::vector<Tensor> ordered;
  const auto step = static_cast<std::size_t>(partitions);
  for (std::size_t first = 0; first < std::min(step, parameters.size()); ++first)
    for (std::size_t i = first; i < parameters.size(); i += step) ordered.push_back(parameters[i]);
  return ordered;
}

}  // namespace

Stage1And2::Stage1And2(const std::vector<std::vector<Tensor>>& groups, const DsConfig& config,
                       const TrainRecipe& recipe, Rank rank)
    : config_(config),
      rank_(rank),
      dtype_(groups.front().front().dtype()),
      separate_grad_accum_(dtype_ != config.grad_accum_dtype),
      uses_grad_accum_attribute_(separate_grad_accum_ && !config.partitions_gradients()) {
  if (config_.zero.offload_optimizer) config_.zero.contiguous_gradients = true;
  for (const std::vector<Tensor>& group : groups) add_group(group);
  grad_accum_.resize(parameters_.size());
  extra_large_.resize(parameters_.size());
  make_groups();
  torch::TensorList masters;
  for (ZeroGroup& group : groups_) masters.push_back(group.master());
  optimizer_ = make_basic_optimizer(config_, recipe, std::move(masters));
  if (has_hooks()) create_gradient_handling_hooks();
}

void Stage1And2::add_group(const std::vector<Tensor>& given) {
  const std::vector<Tensor> ordered =
      config_.zero.round_robin_gradients ? round_robin(given, rank_.world_size) : given;
  for (const Tensor& p : given) {
    const auto at = std::ranges::find(ordered, p.ptr(), [](const Tensor& t) { return t.ptr(); });
    arrival_.push_back(parameters_.size() + static_cast<std::size_t>(at - ordered.begin()));
  }
  parameters_.insert(parameters_.end(), ordered.begin(), ordered.end());
  group_ends_.push_back(parameters_.size());
}

void Stage1And2::make_groups() {
  std::size_t first = 0;
  for (const std::size_t end : group_ends_) {
    std::vector<Tensor> parameters(parameters_.begin() + static_cast<std::ptrdiff_t>(first),
                                   parameters_.begin() + static_cast<std::ptrdiff_t>(end));
    groups_.emplace_back(std::move(parameters), first, config_, rank_);
    first = end;
  }
  reduction_stream_ = ghost::session().make_stream();
  if (!config_.zero.offload_optimizer) return initialize_optimizer_states();
  std::int64_t largest = 0;
  for (const Tensor& p : parameters_) largest = std::max(largest, p.numel());
  temporary_ = ghost::zeros({largest}, dtype_, Category::communication);
}

/// A gradient for the master weights of each group, dropped again.
void Stage1And2::initialize_optimizer_states() const {
  std::vector<Tensor> gradients;
  for (const ZeroGroup& group : groups_)
    gradients.push_back(ghost::zeros({group.partition_size()}, DType::float32));
}

ZeroGroup& Stage1And2::group_of(std::size_t parameter) {
  return *std::ranges::find_if(
      groups_, [parameter](const ZeroGroup& group) { return group.holds(parameter); });
}

Bytes Stage1And2::master_bytes() const {
  Bytes bytes = 0;
  for (const ZeroGroup& group : groups_) bytes += group.master().nbytes();
  return bytes;
}

Bytes Stage1And2::gradient_bytes() const {
  Bytes bytes = 0;
  for (const ZeroGroup& group : groups_)
    bytes += bytes_of(config_.grad_accum_dtype, group.partition_size());
  return bytes;
}

bool Stage1And2::has_hooks() const {
  return config_.partitions_gradients() || config_.zero.overlap_comm ||
         uses_grad_accum_attribute_ || config_.zero.contiguous_gradients;
}

void Stage1And2::create_gradient_handling_hooks() {
  for (std::size_t i : arrival_) {
    accumulators_.push_back(ghost::grad_accumulator(parameters_[i]));
    accumulators_.back()->add_hooks().after.push_back([this, i] {
      const GradMode no_grad(false);
      process_gradients(i);
    });
  }
}

void Stage1And2::before_forward() {
  if (!epilogue_ran_) return;
  for (Tensor& gradient : grad_accum_) gradient.reset();
  epilogue_ran_ = false;
}

Tensor Stage1And2::gradient_of(std::size_t parameter) const {
  return uses_grad_accum_attribute_ ? grad_accum_[parameter] : parameters_[parameter].grad();
}

void Stage1And2::clear_gradient(std::size_t parameter) {
  if (uses_grad_accum_attribute_)
    grad_accum_[parameter].reset();
  else
    parameters_[parameter].impl().grad.reset();
}

/// _fill_param_grad_accum_attribute
void Stage1And2::fill_grad_accum(std::size_t parameter) {
  const Tensor gradient = parameters_[parameter].grad();
  if (!gradient.impl().storage && gradient.numel() == 0) return;
  const Tensor wide = gradient.to(config_.grad_accum_dtype);
  if (!grad_accum_[parameter].defined()) {
    grad_accum_[parameter] = wide;
    ghost::session().set_category(wide, Category::gradient);
  }
  parameters_[parameter].impl().grad.reset();
}

void Stage1And2::backward_prologue(bool boundary) {
  boundary_ = boundary;
  if (!ghost::has(changes::kZeroMakesBucketsInHooks)) setup_buckets();
}

void Stage1And2::process_gradients(std::size_t parameter) {
  setup_buckets();
  if (uses_grad_accum_attribute_) fill_grad_accum(parameter);
  if (config_.partitions_gradients() || config_.zero.overlap_comm) reduce_ready(parameter);
}

void Stage1And2::setup_buckets() {
  if (ready_for_gradients_) return;
  ++micro_step_;
  if (config_.zero.contiguous_gradients) {
    const Op op("empty", {});
    const DType dtype = uses_grad_accum_attribute_ ? config_.grad_accum_dtype : dtype_;
    bucket_.buffers.clear();
    bucket_.index = 0;
    for (int i = 0; i < (config_.zero.overlap_comm ? 2 : 1); ++i)
      bucket_.buffers.push_back(
          ghost::empty({config_.zero.reduce_bucket_size}, dtype, Category::communication));
  }
  ready_for_gradients_ = true;
}

void Stage1And2::reduce_ready(std::size_t parameter) {
  if (!config_.partitions_gradients() && !boundary_) return;
  const std::int64_t numel = parameters_[parameter].numel();
  if (numel == 0) return;
  const Tensor gradient = gradient_of(parameter);
  if (bucket_.elements + numel > config_.zero.reduce_bucket_size) {
    reduce_ipg_grads();
    if (config_.zero.contiguous_gradients && config_.zero.overlap_comm)
      bucket_.index = 1 - bucket_.index;
  }
  if (config_.zero.contiguous_gradients) add_to_bucket(parameter, gradient);
  bucket_.elements += numel;
  bucket_.gradients.push_back(gradient);
  bucket_.parameters.push_back(parameter);
}

void Stage1And2::add_to_bucket(std::size_t parameter, const Tensor& gradient) {
  const std::int64_t numel = gradient.numel();
  if (numel > config_.zero.reduce_bucket_size) {
    if (config_.zero.offload_optimizer) put_data(gradient, gradient.clone());
    extra_large_[parameter] = true;
    return;
  }
  put_data(gradient, narrow(bucket_.buffers[bucket_.index], bucket_.elements, numel));
}

void Stage1And2::reduce_ipg_grads() {
  const bool overlaps = config_.zero.overlap_comm;
  if (!config_.zero.contiguous_gradients) {
    if (!bucket_.gradients.empty()) {
      if (overlaps) {
        for (std::size_t parameter : drop_later_) clear_gradient(parameter);
        drop_later_.clear();
      }
      const ghost::StreamGuard stream(overlaps ? reduction_stream_ : ghost::session().stream);
      Joined joined{.tensor = bucket_.gradients.front()};
      for (std::size_t parameter : bucket_.parameters) {
        ZeroGroup& group = group_of(parameter);
        const auto piece = group.piece(parameter);
        joined.add(
            {.partition = rank_.index,
             .elements = parameters_[parameter].numel(),
             .output = piece && uses_compact_buffer() ? group.compact_slice(*piece) : Tensor()});
      }
      all_reduce(joined);
      for (const Tensor& gradient : bucket_.gradients) record_on_reduction_stream(gradient);
    }
  } else if (!bucket_.parameters.empty() && extra_large_[bucket_.parameters.front()]) {
    extra_large_[bucket_.parameters.front()] = false;
    average_tensor(bucket_.gradients.front());
  } else {
    average_tensor(narrow(bucket_.buffers[bucket_.index], 0, bucket_.elements));
  }
  const ghost::StreamGuard stream(overlaps ? reduction_stream_ : ghost::session().stream);
  for (std::size_t parameter : bucket_.parameters) keep_or_drop(parameter);
  bucket_.parameters.clear();
  bucket_.gradients.clear();
  bucket_.elements = 0;
}

/// What becomes of a reduced gradient: those of other partitions go in stage 2.
void Stage1And2::keep_or_drop(std::size_t parameter) {
  const bool own = group_of(parameter).piece(parameter).has_value();
  if (own && config_.zero.contiguous_gradients) return copy_grads_in_partition(parameter);
  if (own || !config_.partitions_gradients()) return;
  if (config_.zero.overlap_comm && !config_.zero.contiguous_gradients)
    drop_later_.push_back(parameter);
  else
    clear_gradient(parameter);
}

std::vector<Stage1And2::Slice> Stage1And2::slices_of_bucket() {
  std::vector<Slice> slices;
  for (std::size_t parameter : bucket_.parameters) {
    ZeroGroup& group = group_of(parameter);
    for (const Piece& piece : group.pieces(parameter)) {
      const bool own = piece.partition == rank_.index && uses_compact_buffer();
      const Tensor output = own ? group.compact_slice(piece) : Tensor();
      if (!own && !slices.empty() && slices.back().partition == piece.partition)
        slices.back().elements += piece.elements;
      else
        slices.push_back({piece.partition, piece.elements, output});
    }
  }
  return slices;
}

/// Ranges of the bucket by the rank they belong to, reduced together (allreduce_and_scatter) or one
/// rank after the other (allreduce_no_retain).
void Stage1And2::average_tensor(const Tensor& tensor) {
  const ghost::StreamGuard stream(config_.zero.overlap_comm ? reduction_stream_
                                                            : ghost::session().stream);
  if (!config_.zero.reduce_scatter) {
    const Tensor reduced = tensor.to(config_.communication_data_type);
    return add_full_reduction(reduced);
  }
  const std::vector<Slice> slices = slices_of_bucket();
  std::vector<std::vector<std::size_t>> together;
  for (std::size_t i = 0; i < slices.size(); ++i) {
    const auto same = std::find_if(together.begin(), together.end(), [&](const auto& group) {
      return config_.zero.use_multi_rank_bucket_allreduce ||
             slices[group.front()].partition == slices[i].partition;
    });
    (same == together.end() ? together.emplace_back() : *same).push_back(i);
  }
  for (const std::vector<std::size_t>& group : together) {
    Joined small{.tensor = tensor};
    for (std::size_t i : group) {
      small.add(slices[i]);
      small.holds_own |= slices[i].partition == rank_.index;
      if (small.elements <= config_.zero.reduce_bucket_size && i != group.back()) continue;
      all_reduce(small);
      small.elements = 0;
      small.count = 0;
      small.holds_own = false;
      small.outputs.clear();
    }
  }
}

/// Where communication overlaps, whoever frees a reduced tensor waits for that stream.
void Stage1And2::record_on_reduction_stream(const Tensor& tensor) const {
  if (config_.zero.overlap_comm) ghost::session().record_stream(tensor, reduction_stream_);
}

/// allreduce_bucket, and what is copied back of it.
void Stage1And2::all_reduce(const Joined& joined) {
  Tensor flat;
  if (joined.count == 1 || joined.holds_own) record_on_reduction_stream(joined.tensor);
  if (joined.count == 1) {
    flat = narrow(joined.tensor, 0, joined.elements);
  } else {
    const Op op("cat", {});
    flat = ghost::empty({joined.elements}, joined.tensor.dtype(), Category::communication);
  }
  const Tensor reduced = std::move(flat).to(config_.communication_data_type);
  for (const Tensor& output : joined.outputs)
    const Tensor cast = narrow(reduced, 0, output.numel()).to(output.dtype());
}

/// _add_full_reduction_to_compact_grad_partition
void Stage1And2::add_full_reduction(const Tensor& reduced) {
  if (!uses_compact_buffer()) return;
  for (std::size_t parameter : bucket_.parameters) {
    ZeroGroup& group = group_of(parameter);
    const auto piece = group.piece(parameter);
    if (!piece) continue;
    const Tensor output = group.compact_slice(*piece);
    const Tensor cast = narrow(reduced, 0, piece->elements).to(output.dtype());
  }
}

bool Stage1And2::uses_compact_buffer() const {
  return config_.grad_accum_dtype == DType::float32 && separate_grad_accum_;
}

void Stage1And2::copy_grads_in_partition(std::size_t parameter) {
  if (config_.zero.offload_optimizer) return copy_grads_to_host(parameter);
  if (uses_compact_buffer()) {
    if (uses_grad_accum_attribute_) clear_gradient(parameter);
    return;
  }
  if (!grads_in_partition_.defined()) {
    std::int64_t total = 0;
    for (const ZeroGroup& group : groups_) total += group.elements_in_partition();
    const Op op("empty", {});
    grads_in_partition_ = ghost::empty({total}, dtype_, Category::gradient);
    grads_in_partition_offset_ = 0;
  }
  const std::int64_t numel = parameters_[parameter].numel();
  put_data(gradient_of(parameter), narrow(grads_in_partition_, grads_in_partition_offset_, numel));
  grads_in_partition_offset_ += numel;
}

/// With the optimizer offloaded: norm and overflow are computed on the device, the rest goes to the
/// host in float32.
void Stage1And2::copy_grads_to_host(std::size_t parameter) {
  ZeroGroup& group = group_of(parameter);
  const Piece piece = *group.piece(parameter);
  if (!boundary_) return;
  const Tensor source = uses_compact_buffer()
                            ? group.compact_slice(piece)
                            : narrow(gradient_of(parameter), piece.in_parameter, piece.elements);
  norms_[parameter] = grad_norm_of(source);
  {
    const Tensor flag = has_inf_or_nan(uses_compact_buffer() ? source : gradient_of(parameter));
  }
  const Tensor cast = source.to(DType::float32);
  clear_gradient(parameter);
}

void Stage1And2::backward_epilogue(bool) {
  const GradMode no_grad(false);
  if (config_.partitions_gradients()) {
    partition_epilogue();
  } else if (boundary_) {  // reduce_gradients
    if (!config_.zero.overlap_comm)
      for (std::size_t parameter : arrival_)
        if (uses_grad_accum_attribute_ ? grad_accum_[parameter].defined()
                                       : static_cast<bool>(parameters_[parameter].impl().grad))
          reduce_ready(parameter);
    partition_epilogue();
  }
  if (!uses_grad_accum_attribute_) return;
  for (std::size_t parameter : arrival_)
    if (parameters_[parameter].impl().grad) fill_grad_accum(parameter);
}

/// independent_gradient_partition_epilogue
void Stage1And2::partition_epilogue() {
  reduce_ipg_grads();
  for (std::size_t parameter : drop_later_) clear_gradient(parameter);
  drop_later_.clear();
  if (!config_.zero.offload_optimizer) accumulate_gradients();
  release_ipg_buffers();
  for (const Tensor& parameter : parameters_) parameter.impl().grad.reset();
  epilogue_ran_ = true;
}

void Stage1And2::accumulate_gradients() {
  const auto gradient = [this](std::size_t i) {
    const bool there = uses_grad_accum_attribute_ ? grad_accum_[i].defined()
                                                  : static_cast<bool>(parameters_[i].impl().grad);
    return there ? gradient_of(i) : ghost::zeros(parameters_[i].sizes(), config_.grad_accum_dtype);
  };
  for (ZeroGroup& group : groups_) {
    if (!uses_compact_buffer())
      group.accumulate(gradient, boundary_);
    else if (boundary_)
      group.compact_slice({});
  }
}

void Stage1And2::release_ipg_buffers() {
  if (config_.zero.contiguous_gradients) {
    bucket_.buffers.clear();
    grads_in_partition_.reset();
  }
  ready_for_gradients_ = false;
}

void Stage1And2::step() {
  const GradMode no_grad(false);
  micro_step_ = -1;
  config_.zero.offload_optimizer ? step_on_host() : step_on_device();
}

/// check_overflow and scaled_global_norm.
Tensor Stage1And2::norm_of_step() {
  if (config_.check_grad_overflow) {
    std::vector<Tensor> gradients;
    for (const ZeroGroup& group : groups_)
      for (Tensor& gradient : group.averaged()) gradients.push_back(std::move(gradient));
    check_overflow(gradients);
  }
  if (!config_.zero.compute_grad_norm) return {};
  std::vector<Tensor> norms;
  for (const ZeroGroup& group : groups_) norms.push_back(grad_norm_direct(group.normed()));
  Tensor norm = combine_grad_norm_groups(norms);
  norms.clear();
  if (dtype_ != DType::bfloat16 || config_.check_grad_overflow) check_grad_norm(norm);
  global_grad_norm = norm.div(1.0);
  return norm;
}

void Stage1And2::step_on_device() {
  const Tensor norm = norm_of_step();
  zero_grad();  // free_grad_in_param_list
  for (ZeroGroup& group : groups_) {
    group.take_gradient();
    if (config_.gradient_clipping > 0.0) clip_by(norm);
    optimizer_->step();
    group.master().impl().grad.reset();
  }
}

void Stage1And2::step_on_host() {
  {
    const Tensor overflow = ghost::full({1}, DType::uint8);
  }
  for (std::size_t i = 0; i < groups_.size(); ++i)
    const Tensor total = ghost::full({1}, DType::float32);
  const HostGuard host;
  for (ZeroGroup& group : groups_) {
    group.master().impl().grad = ghost::empty({group.partition_size()}, DType::float32).ptr();
    optimizer_->step();
    group.drop_averaged();
  }
  norms_.clear();
}

void Stage1And2::zero_grad() {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    parameters_[i].impl().grad.reset();
    grad_accum_[i].reset();
  }
}

}  // namespace memtape::deepspeed
