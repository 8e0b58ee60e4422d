// SPDX-License-Identifier: Apache-2.0
#include "framework/deepspeed/stage3.h"

#include <algorithm>
#include <utility>

#include "framework/deepspeed/basic_optimizer.h"
#include "framework/deepspeed/flat_tensors.h"
#include "framework/deepspeed/grad_health.h"
#include "ghost/autograd/accumulate_grad.h"
#include "ghost/ops/comparisons.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "ghost/session.h"

namespace memtape::deepspeed {

using ghost::GradMode;
using ghost::HostGuard;
using ghost::Op;
using ghost::StreamGuard;

Stage3::Stage3(family::PretrainedModel& model, const DsConfig& config, const TrainRecipe& recipe,
               Rank rank, const std::vector<Tensor>& second_group)
    : config_(config),
      rank_(rank),
      offload_(model, config, recipe, rank.world_size),
      activations_(offload_.activation_hooks()) {
  const GradMode no_grad(false);
  ghost::Session& s = ghost::session();
  for (ZeroParam* param : offload_.in_order())
    if (param->parameter.requires_grad()) trained_.push_back(param);
  dtype_ = trained_.front()->parameter.dtype();
  order_by_group(second_group);
  {
    const HostGuard host(config_.zero.offload_optimizer);
    inf_or_nan_tracker_ = ghost::zeros({1}, DType::boolean, Category::buffer);
  }
  if (config_.zero.overlap_comm) reduce_stream_ = s.make_stream();
  create_partitions();
  create_masters();
  torch::TensorList masters;
  for (const SubGroup& group : sub_groups_) masters.push_back(group.master);
  optimizer_ = make_basic_optimizer(config_, recipe, std::move(masters));
  setup_buffers();
  create_gradient_hooks();
}

/// dist.barrier(): the tensor it reduces stays until the next one.
void Stage3::barrier() {
  const Op op("barrier", {});
  Tensor reduced = ghost::empty({1}, DType::uint8, Category::communication);
  barrier_ = std::move(reduced);
  const Tensor synchronized = ghost::empty({1}, DType::float32, Category::communication);
}

void Stage3::order_by_group(const std::vector<Tensor>& second_group) {
  const auto is_first = [&](const ZeroParam* param) {
    return std::none_of(second_group.begin(), second_group.end(),
                        [&](const Tensor& p) { return p.ptr() == param->parameter.ptr(); });
  };
  const auto second = std::stable_partition(trained_.begin(), trained_.end(), is_first);
  first_group_ = static_cast<std::size_t>(second - trained_.begin());
}

/// _create_fp16_partitions_with_defragmentation: by way of the host into one buffer.
void Stage3::create_partitions() {
  barrier();
  std::int64_t elements = 0;
  for (std::size_t i = 0; i < trained_.size(); ++i) {
    ZeroParam* const param = trained_[i];
    if (i == 0 || i == first_group_ || sub_groups_.back().numel >= config_.zero.sub_group_size)
      sub_groups_.emplace_back();
    sub_groups_.back().params.push_back(param);
    sub_groups_.back().numel += param->partition_numel;
    elements += param->partition_numel;
  }
  for (ZeroParam* param : trained_) param->partition.impl().storage.reset();
  if (!config_.zero.offload_param) ghost::session().tape.empty_cache();
  {
    const HostGuard host(config_.zero.offload_param);
    const Op op("_to_copy", {});
    partitions_ = ghost::empty({elements}, dtype_, Category::parameter);
  }
  for (ZeroParam* param : trained_)
    put_data(param->partition, narrow(partitions_, 0, param->partition_numel));
  for (SubGroup& group : sub_groups_) group.flat = narrow(partitions_, 0, group.numel);
}

/// _create_fp32_partitions and initialize_optimizer_states.
void Stage3::create_masters() {
  Tensor converted;
  std::int64_t largest = 0;
  for (SubGroup& group : sub_groups_) {
    const HostGuard host(config_.zero.offload_optimizer);
    const bool comes_from_host = config_.zero.offload_param || config_.zero.offload_optimizer;
    converted = comes_from_host ? ghost::empty({group.numel}, DType::float32)
                                : group.flat.to(DType::float32);
    group.master = converted.clone();
    ghost::session().set_category(group.master, Category::optimizer_state);
    group.master.impl().requires_grad = true;
    largest = std::max(largest, group.numel);
  }
  converted.reset();
  barrier();
  {
    const HostGuard host(config_.zero.offload_optimizer);
    const Tensor gradient_buffer = ghost::zeros({largest}, DType::float32);
  }
  barrier();
}

void Stage3::setup_buffers() {
  std::int64_t elements = 0;
  for (const ZeroParam* param : trained_) elements += param->partition_numel;
  if (config_.zero.contiguous_gradients) {
    const Op op("empty", {});
    bucket_buffer_ = ghost::empty({config_.zero.reduce_bucket_size},
                                  config_.communication_data_type, Category::communication);
  }
  const HostGuard host(config_.zero.offload_optimizer);
  grad_partitions_ = ghost::zeros({elements}, config_.grad_accum_dtype, Category::gradient);
}

/// Each parameter is gathered while its hook is made.
void Stage3::create_gradient_hooks() {
  for (ZeroParam* param : trained_) {
    all_gather({param}, offload_.gather());
    accumulators_.push_back(ghost::grad_accumulator(param->parameter));
    accumulators_.back()->add_hooks().after.push_back([this, param] { reduce_gradient(*param); });
    param->release();
  }
}

Bytes Stage3::master_bytes() const {
  Bytes bytes = 0;
  for (const SubGroup& group : sub_groups_) bytes += group.master.nbytes();
  return bytes;
}

std::optional<Bytes> Stage3::parameter_bytes() const {
  if (config_.zero.offload_param) return 0;
  Bytes bytes = partitions_.nbytes();
  for (const ZeroParam& param : offload_.params())
    if (!param.parameter.requires_grad()) bytes += param.partition.nbytes();
  return bytes;
}

void Stage3::before_forward() {
  if (epilogue_ran_) ++micro_step_;
  epilogue_ran_ = false;
}

/// reduce_independent_p_g_buckets_and_remove_grads
void Stage3::reduce_gradient(ZeroParam& param) {
  const GradMode no_grad(false);
  if (bucket_elements_ + param.numel > config_.zero.reduce_bucket_size && bucket_elements_ > 0)
    reduce_and_partition();
  add_to_bucket(param);
}

void Stage3::add_to_bucket(ZeroParam& param) {
  const Tensor gradient = param.parameter.grad();
  if (config_.zero.contiguous_gradients &&
      bucket_elements_ + param.numel <= config_.zero.reduce_bucket_size) {
    const StreamGuard stream(reduce_stream_);
    ghost::session().record_stream(gradient, reduce_stream_);
    put_data(gradient, narrow(bucket_buffer_, bucket_elements_, param.numel));
  }
  bucket_.push_back(&param);
  bucket_elements_ += param.numel;
}

void Stage3::reduce_and_partition() {
  if (bucket_.empty()) return;
  const StreamGuard stream(reduce_stream_);
  std::vector<ZeroParam*> params = std::exchange(bucket_, {});
  const bool contiguous = config_.zero.contiguous_gradients && !config_.zero.reduce_scatter &&
                          bucket_elements_ <= config_.zero.reduce_bucket_size;
  if (!contiguous)
    std::sort(params.begin(), params.end(),
              [](const ZeroParam* a, const ZeroParam* b) { return a->id < b->id; });
  const std::vector<Tensor> partitions =
      contiguous ? scatter_contiguous(params) : scatter_gradients(params);
  for (std::size_t i = 0; i < params.size(); ++i) partition_gradient(*params[i], partitions[i]);
  bucket_elements_ = 0;
}

/// What this rank's partition really holds of a parameter.
std::int64_t Stage3::own_elements(const ZeroParam& param) const {
  const std::int64_t start = rank_.index * param.partition_numel;
  return std::clamp<std::int64_t>(param.numel - start, 0, param.partition_numel);
}

/// __avg_scatter_grads and reduce_scatter_coalesced: partitions of all, rank by rank, in one
/// buffer; what does not divide is filled up.
std::vector<Tensor> Stage3::scatter_gradients(const std::vector<ZeroParam*>& params) {
  std::vector<Tensor> full;
  for (const ZeroParam* param : params) {
    Tensor gradient = param->parameter.grad();
    full.push_back(config_.communication_data_type == dtype_
                       ? gradient
                       : gradient.to(config_.communication_data_type));
  }
  Tensor buffer;
  if (params.size() == 1 && params.front()->numel % rank_.world_size == 0) {
    buffer = full.front();
  } else {
    const Op op("cat", {});
    std::vector<Tensor> padding;
    std::int64_t elements = 0;
    if (!ghost::session().has_room(params.size() * static_cast<std::size_t>(rank_.world_size)))
      return std::vector<Tensor>(params.size(), bucket_buffer_);
    for (std::int64_t rank = 0; rank < rank_.world_size; ++rank)
      for (const ZeroParam* param : params) {
        const std::int64_t size = param->partition_numel;
        const std::int64_t held = std::clamp<std::int64_t>(param->numel - rank * size, 0, size);
        if (held < size)
          padding.push_back(ghost::empty({size - held}, config_.communication_data_type));
        elements += size;
      }
    buffer = ghost::empty({elements}, config_.communication_data_type, Category::communication);
  }
  std::vector<Tensor> partitions;
  for (const ZeroParam* param : params)
    partitions.push_back(narrow(buffer, 0, own_elements(*param)));
  if (config_.communication_data_type != config_.grad_accum_dtype)
    for (Tensor& partition : partitions) partition = partition.to(config_.grad_accum_dtype);
  return partitions;
}

/// __avg_scatter_contiguous_grads: the bucket as a whole, reduced on every rank.
std::vector<Tensor> Stage3::scatter_contiguous(const std::vector<ZeroParam*>& params) {
  Tensor buffer = narrow(bucket_buffer_, 0, bucket_elements_);
  buffer = buffer.mul(ghost::kScale);
  buffer = buffer.to(config_.grad_accum_dtype);
  std::vector<Tensor> partitions;
  for (const ZeroParam* param : params) {
    const std::int64_t held = own_elements(*param);
    partitions.push_back(held == param->partition_numel
                             ? narrow(buffer, 0, held)
                             : ghost::zeros({param->partition_numel}, config_.grad_accum_dtype));
  }
  return partitions;
}

/// partition_grads
void Stage3::partition_gradient(ZeroParam& param, const Tensor& partition) {
  if (own_elements(param) > 0) {
    Tensor buffer;
    if (config_.zero.offload_optimizer) {  // by way of the device
      const Op op("_to_copy", {});
      buffer = ghost::empty(partition.sizes(), config_.grad_accum_dtype);
      if (boundary_) {
        norms_.push_back(grad_norm_of(buffer).pow(2.0).pow(0.5));
        const Tensor cast = buffer.to(DType::float32);
      }
    } else if (micro_step_ > 0) {
      const Tensor cast = partition.to(config_.grad_accum_dtype);
    }
    ghost::session().record_stream(param.parameter.grad(), ghost::session().stream);
  }
  param.parameter.impl().grad.reset();
}

void Stage3::backward_epilogue(bool) {
  const GradMode no_grad(false);
  reduce_and_partition();
  epilogue_ran_ = true;
  offload_.coordinator().release_backward_leftovers();
}

/// has_overflow, of float16 models alone.
void Stage3::check_overflow() const {
  if (dtype_ != DType::float16) return;
  const StreamGuard stream(reduce_stream_);
  const HostGuard host(config_.zero.offload_optimizer);
  {
    const Tensor any = ghost::any(ghost::isinf(grad_partitions_));
  }
  {
    const Tensor any = ghost::any(ghost::isnan(grad_partitions_));
  }
  const Tensor overflow = inf_or_nan_tracker_.clone().to(DType::uint8);
}

/// get_grad_norm_direct of stage 3, which stays in float64.
Tensor Stage3::norm_of(const SubGroup& group) const {
  std::vector<Tensor> norms, rows;
  for (const ZeroParam* param : group.params)
    norms.push_back(grad_norm_of(narrow(grad_partitions_, 0, param->partition_numel)));
  for (const Tensor& norm : norms) rows.push_back(norm.unsqueeze(0));
  const Tensor sum = ghost::sum_all(ghost::cat(rows, 0).pow(2.0));
  const Tensor total = sum.pow(0.5);
  const Tensor is_inf = ghost::isinf(total);
  const Tensor is_nan = ghost::isnan(total);
  const Tensor either = ghost::logical_or(is_nan, is_inf);
  const Tensor error = ghost::full({}, DType::float32);
  return ghost::where(either, error.to(total.dtype()), total);
}

void Stage3::step() {
  const GradMode no_grad(false);
  micro_step_ = 0;
  epilogue_ran_ = false;
  std::vector<ZeroParam*> all;
  for (ZeroParam& param : offload_.params()) all.push_back(&param);
  offload_.coordinator().release_and_reset_all(all);
  check_overflow();
  std::vector<Tensor> groups;
  Tensor norm;
  if (config_.zero.offload_optimizer) {
    norm = norm_on_host();
  } else {
    for (const SubGroup& group : sub_groups_) groups.push_back(norm_of(group));
    norm = combine_grad_norm_groups(groups);
    check_grad_norm(norm);
    global_grad_norm = norm.div(1.0);
    zero_grad();
  }
  for (SubGroup& group : sub_groups_) step_sub_group(group, norm);
  norms_.clear();
  gather_persistent();
}

/// complete_grad_norm_calculation_for_cpu_offload: the norms are added up on the device.
Tensor Stage3::norm_on_host() const {
  Tensor total;
  for (const Tensor& norm : norms_) {
    const Tensor square = norm.pow(2.0);
    total = total.defined() ? total.add(square) : square.add(0.0);
  }
  const Tensor sum = ghost::full({1}, DType::float32);
  const Tensor root = sum.pow(0.5);
  const HostGuard host;
  return ghost::full({}, DType::float32);
}

void Stage3::step_sub_group(SubGroup& group, const Tensor& norm) {
  const HostGuard host(config_.zero.offload_optimizer);
  {
    std::vector<Tensor> gradients;
    for (const ZeroParam* param : group.params)
      gradients.push_back(narrow(grad_partitions_, 0, param->partition_numel));
    const Tensor gradient = flatten(gradients).to(DType::float32);
    ghost::session().set_category(gradient, Category::gradient);
    group.master.impl().grad = gradient.ptr();
  }
  if (config_.gradient_clipping > 0.0 && !config_.zero.offload_optimizer) scale_by_clip(norm);
  optimizer_->step();
  group.master.impl().grad.reset();
}

/// _post_step
void Stage3::gather_persistent() {
  const std::vector<ZeroParam*>& persistent = offload_.persistent();
  if (!persistent.empty()) all_gather(persistent, offload_.gather());
  for (ZeroParam* param : trained_) param->secondary.reset();  // invalidate_secondary_tensor
}

void Stage3::zero_grad() {
  for (ZeroParam* param : trained_) param->parameter.impl().grad.reset();
}

}  // namespace memtape::deepspeed
