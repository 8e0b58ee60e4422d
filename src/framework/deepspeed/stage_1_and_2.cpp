// SPDX-License-Identifier: Apache-2.0
#include "framework/deepspeed/stage_1_and_2.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "framework/deepspeed/basic_optimizer.h"
#include "framework/deepspeed/flat_tensors.h"
#include "framework/deepspeed/grad_health.h"
#include "ghost/autograd/accumulate_grad.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/pointwise.h"
#include "ghost/session.h"

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

Stage1And2::Stage1And2(std::vector<Tensor> parameters, const DsConfig& config,
                       const TrainRecipe& recipe, Rank rank)
    : parameters_(std::move(parameters)),
      config_(config),
      rank_(rank),
      dtype_(parameters_.front().dtype()),
      separate_grad_accum_(dtype_ != config.grad_accum_dtype),
      uses_grad_accum_attribute_(separate_grad_accum_ && !config.partitions_gradients()) {
  arrival_.resize(parameters_.size());
  std::iota(arrival_.begin(), arrival_.end(), 0U);
  if (config_.zero.offload_optimizer) config_.zero.contiguous_gradients = true;
  if (config_.zero.round_robin_gradients) {
    const std::vector<Tensor> given =
        std::exchange(parameters_, round_robin(parameters_, rank_.world_size));
    for (std::size_t i = 0; i < given.size(); ++i)
      arrival_[i] = static_cast<std::size_t>(
          std::find_if(parameters_.begin(), parameters_.end(),
                       [&](const Tensor& p) { return p.ptr() == given[i].ptr(); }) -
          parameters_.begin());
  }
  grad_accum_.resize(parameters_.size());
  extra_large_.resize(parameters_.size());
  flatten_parameters();
  make_master();
  optimizer_ = make_basic_optimizer(config_, recipe, {master_});
  if (has_hooks()) create_gradient_handling_hooks();
}

void Stage1And2::flatten_parameters() {
  ghost::session().tape.empty_cache();
  std::vector<std::int64_t> numels;
  for (const Tensor& p : parameters_) numels.push_back(p.numel());
  const std::int64_t alignment =
      config_.zero.parameter_alignment ? 16 / std::gcd(16, bits(dtype_) / 8) : 1;
  layout_ = std::make_unique<FlatLayout>(numels, rank_.world_size, alignment);
  for (std::size_t i = 0; i < parameters_.size(); ++i)
    if (layout_->piece(i, rank_.index)) in_partition_.push_back(i);

  std::vector<Tensor> padded;
  std::int64_t end = 0;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    padded.push_back(parameters_[i]);
    const std::int64_t padding = layout_->padding(i);
    if (padding > 0) padded.push_back(ghost::zeros({padding}, dtype_));
    end = layout_->start(i) + parameters_[i].numel() + padding;
  }
  if (end < layout_->numel()) padded.push_back(ghost::zeros({layout_->numel() - end}, dtype_));
  flat_ = flatten(padded);
  ghost::session().set_category(flat_, Category::parameter);
  padded.clear();
  for (std::size_t i = 0; i < parameters_.size(); ++i)
    put_data(parameters_[i], narrow(flat_, layout_->start(i), parameters_[i].numel()));
}

void Stage1And2::make_master() {
  const GradMode no_grad(false);
  const std::int64_t size = layout_->partition_size();
  {
    const Tensor partition = narrow(flat_, size * rank_.index, size).clone();
    const HostGuard host(config_.zero.offload_optimizer);
    master_ = config_.zero.offload_optimizer ? ghost::empty({size}, DType::float32)
                                             : partition.to(DType::float32);
    ghost::session().set_category(master_, Category::optimizer_state);
    master_.impl().requires_grad = true;
  }
  reduction_stream_ = ghost::session().make_stream();
  if (config_.zero.offload_optimizer) {
    std::int64_t largest = 0;
    for (const Tensor& p : parameters_) largest = std::max(largest, p.numel());
    temporary_ = ghost::zeros({largest}, dtype_, Category::communication);
    return;
  }
  const Tensor gradient = ghost::zeros({size}, DType::float32);  // initialize_optimizer_states
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
        const auto piece = layout_->piece(parameter, rank_.index);
        joined.add({.partition = rank_.index,
                    .elements = parameters_[parameter].numel(),
                    .output = piece && uses_compact_buffer() ? compact_slice(*piece) : Tensor()});
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
  const bool own = layout_->piece(parameter, rank_.index).has_value();
  if (own && config_.zero.contiguous_gradients) return copy_grads_in_partition(parameter);
  if (own || !config_.partitions_gradients()) return;
  if (config_.zero.overlap_comm && !config_.zero.contiguous_gradients)
    drop_later_.push_back(parameter);
  else
    clear_gradient(parameter);
}

std::vector<Stage1And2::Slice> Stage1And2::slices_of_bucket() {
  std::vector<Slice> slices;
  for (std::size_t parameter : bucket_.parameters)
    for (const Piece& piece : layout_->pieces(parameter)) {
      const bool own = piece.partition == rank_.index && uses_compact_buffer();
      const Tensor output = own ? compact_slice(piece) : Tensor();
      if (!own && !slices.empty() && slices.back().partition == piece.partition)
        slices.back().elements += piece.elements;
      else
        slices.push_back({piece.partition, piece.elements, output});
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
    const auto piece = layout_->piece(parameter, rank_.index);
    if (!piece) continue;
    const Tensor output = compact_slice(*piece);
    const Tensor cast = narrow(reduced, 0, piece->elements).to(output.dtype());
  }
}

bool Stage1And2::uses_compact_buffer() const {
  return config_.grad_accum_dtype == DType::float32 && separate_grad_accum_;
}

/// _get_compact_grad_partition_slice: the buffer is made by the first gradient of a step.
Tensor Stage1And2::compact_slice(const Piece& piece) {
  if (!averaged_flat_.defined())
    averaged_flat_ =
        ghost::zeros({layout_->partition_size()}, config_.grad_accum_dtype, Category::gradient);
  return narrow(averaged_flat_, piece.in_partition, piece.elements);
}

void Stage1And2::copy_grads_in_partition(std::size_t parameter) {
  if (config_.zero.offload_optimizer) return copy_grads_to_host(parameter);
  if (uses_compact_buffer()) {
    if (uses_grad_accum_attribute_) clear_gradient(parameter);
    return;
  }
  if (!grads_in_partition_.defined()) {
    std::int64_t total = 0;
    for (std::size_t i : in_partition_) total += parameters_[i].numel();
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
  const auto piece = *layout_->piece(parameter, rank_.index);
  if (!boundary_) return;
  const Tensor source = uses_compact_buffer()
                            ? compact_slice(piece)
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
  if (uses_compact_buffer()) {
    if (boundary_ && !averaged_flat_.defined()) compact_slice({});
    return;
  }
  if (!holds_all_grads_)
    all_grads_ = gradients_in_partition();
  else
    const std::vector<Tensor> added_in_place = gradients_in_partition();
  holds_all_grads_ = true;
  if (!boundary_) return;
  averaged_ = flat_partition();
  all_grads_.clear();
  holds_all_grads_ = false;
}

/// get_all_grad_tensors
std::vector<Tensor> Stage1And2::gradients_in_partition() const {
  std::vector<Tensor> gradients;
  for (std::size_t i : in_partition_) {
    const bool there = uses_grad_accum_attribute_ ? grad_accum_[i].defined()
                                                  : static_cast<bool>(parameters_[i].impl().grad);
    gradients.push_back(there ? gradient_of(i)
                              : ghost::zeros(parameters_[i].sizes(), config_.grad_accum_dtype));
  }
  return gradients;
}

/// get_flat_partition: this rank's pieces of the gradients, and zeros where there are none.
std::vector<Tensor> Stage1And2::flat_partition() const {
  std::vector<Tensor> pieces;
  std::int64_t end = 0;
  for (std::size_t k = 0; k < in_partition_.size(); ++k) {
    const Piece piece = *layout_->piece(in_partition_[k], rank_.index);
    if (piece.in_partition > end)
      pieces.push_back(ghost::zeros({piece.in_partition - end}, config_.grad_accum_dtype));
    pieces.push_back(narrow(all_grads_[k], piece.in_parameter, piece.elements));
    end = piece.in_partition + piece.elements;
  }
  if (end < layout_->partition_size())
    pieces.push_back(ghost::zeros({layout_->partition_size() - end}, config_.grad_accum_dtype));
  return pieces;
}

void Stage1And2::release_ipg_buffers() {
  if (config_.zero.contiguous_gradients) {
    bucket_.buffers.clear();
    grads_in_partition_.reset();
  }
  ready_for_gradients_ = false;
}

/// The gradients without the zeros between them.
std::vector<Tensor> Stage1And2::normed_gradients() const {
  std::vector<Tensor> gradients;
  const Tensor& whole = averaged_flat_;
  if (averaged_.empty() && !whole.defined()) return gradients;
  std::size_t at = 0;
  std::int64_t end = 0;
  for (std::size_t i : in_partition_) {
    const Piece piece = *layout_->piece(i, rank_.index);
    if (!whole.defined() && piece.in_partition > end) ++at;
    gradients.push_back(whole.defined() ? narrow(whole, piece.in_partition, piece.elements)
                                        : averaged_[at++]);
    end = piece.in_partition + piece.elements;
  }
  return gradients;
}

void Stage1And2::step() {
  const GradMode no_grad(false);
  micro_step_ = -1;
  config_.zero.offload_optimizer ? step_on_host() : step_on_device();
}

/// check_overflow and scaled_global_norm.
Tensor Stage1And2::norm_of_step() {
  const std::vector<Tensor> normed = normed_gradients();
  if (config_.check_grad_overflow) check_overflow(averaged_flat_.defined() ? normed : averaged_);
  if (!config_.zero.compute_grad_norm) return {};
  Tensor norm = combine_grad_norm_groups({grad_norm_direct(normed)});
  if (dtype_ != DType::bfloat16 || config_.check_grad_overflow) check_grad_norm(norm);
  global_grad_norm = norm.div(1.0);
  return norm;
}

void Stage1And2::step_on_device() {
  const Tensor norm = norm_of_step();
  zero_grad();  // free_grad_in_param_list
  {
    Tensor flat = averaged_flat_.defined() ? averaged_flat_ : flatten(averaged_);
    const Tensor gradient = std::move(flat).to(DType::float32);
    ghost::session().set_category(gradient, Category::gradient);
    master_.impl().grad = gradient.ptr();
  }
  averaged_.clear();
  averaged_flat_.reset();
  if (config_.gradient_clipping > 0.0) clip_by(norm);
  optimizer_->step();
  master_.impl().grad.reset();
}

void Stage1And2::step_on_host() {
  {
    const Tensor overflow = ghost::full({1}, DType::uint8);
  }
  {
    const Tensor total = ghost::full({1}, DType::float32);
  }
  const HostGuard host;
  master_.impl().grad = ghost::empty({layout_->partition_size()}, DType::float32).ptr();
  optimizer_->step();
  averaged_flat_.reset();
  norms_.clear();
}

void Stage1And2::zero_grad() {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    parameters_[i].impl().grad.reset();
    grad_accum_[i].reset();
  }
}

}  // namespace memtape::deepspeed
