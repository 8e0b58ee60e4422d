// SPDX-License-Identifier: Apache-2.0
#include "framework/deepspeed/zero_param.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "framework/deepspeed/flat_tensors.h"
#include "ghost/autograd/node.h"
#include "ghost/session.h"

namespace memtape::deepspeed {
namespace {

using ghost::Op;

Tensor gathered(std::int64_t elements, DType dtype) {
  const Op op("all_gather", {});
  return ghost::empty({elements}, dtype, Category::parameter);
}

/// A parameter in place of which only this rank is: its partition is the whole.
void take_partition(ZeroParam& param) { put_data(param.parameter, param.partition_on_device()); }

void gather_in_place(ZeroParam& param, const GatherOptions& options) {
  const Tensor buffer =
      gathered(param.partition_numel * options.world_size, param.partition.dtype());
  const Tensor own = param.sent();
  put_data(param.parameter, buffer);
}

/// Views of one zeroed buffer, which is reduced.
void gather_by_all_reduce(const std::vector<ZeroParam*>& params, const GatherOptions& options) {
  std::int64_t elements = 0;
  for (const ZeroParam* param : params) elements += param->partition_numel * options.world_size;
  const Tensor buffer = gathered(elements, params.front()->partition.dtype());
  for (const ZeroParam* param : params) put_data(param->parameter, buffer);
}

/// _all_gather_dtype: this rank's partitions are joined in their place in the buffer.
GatherHandle::Part gather_together(const std::vector<ZeroParam*>& params,
                                   const GatherOptions& options) {
  std::int64_t elements = 0;
  for (const ZeroParam* param : params) elements += param->partition_numel;
  const Op op("all_gather", {});
  const Tensor flat = ghost::empty({elements * options.world_size},
                                   params.front()->partition.dtype(), Category::communication);
  std::vector<Tensor> own;
  for (const ZeroParam* param : params) own.push_back(param->sent());
  return {params, flat};
}

/// By dtype, in the order of their names.
std::vector<std::vector<ZeroParam*>> by_dtype(const std::vector<ZeroParam*>& params) {
  std::map<std::string_view, std::vector<ZeroParam*>> found;
  for (ZeroParam* param : params) found[name(param->partition.dtype())].push_back(param);
  std::vector<std::vector<ZeroParam*>> groups;
  for (auto& [dtype, group] : found) groups.push_back(std::move(group));
  return groups;
}

Tensor on_device(const Tensor& piece, bool is_on_host) {
  if (!is_on_host) return piece;
  const Op op("_to_copy", {});
  return ghost::empty(piece.sizes(), piece.dtype(), Category::communication);
}

}  // namespace

Tensor ZeroParam::partition_on_device() const { return on_device(partition, partition_on_host); }

Tensor ZeroParam::sent() const {
  return on_device(secondary.defined() ? secondary : partition, partition_on_host);
}

void ZeroParam::make_secondary() {
  if (secondary_numel == 0 || secondary.defined() || !is_available()) return;
  const ghost::HostGuard host(partition_on_host);
  const Op op("empty", {});
  secondary = ghost::empty({secondary_numel}, parameter.dtype(), Category::parameter);
}

void ZeroParam::release() {
  if (!is_available()) return;
  make_secondary();
  ghost::Session& s = ghost::session();
  ghost::TensorImpl& impl = parameter.impl();
  if (impl.storage) s.record_stream(parameter, s.stream);
  impl.storage.reset();
  status = Status::not_available;
}

void GatherHandle::wait() {
  if (std::exchange(complete, true)) return;
  for (const Part& part : parts)
    for (ZeroParam* param : part.params) {
      param->status = ZeroParam::Status::available;
      if (!part.flat.defined()) continue;
      const Op op("cat", {});
      put_data(param->parameter,
               ghost::empty({param->numel}, part.flat.dtype(), Category::parameter));
      ghost::session().record_stream(part.flat, ghost::session().stream);
    }
}

std::shared_ptr<GatherHandle> all_gather_coalesced(std::vector<ZeroParam*> params,
                                                   const GatherOptions& options) {
  std::sort(params.begin(), params.end(),
            [](const ZeroParam* a, const ZeroParam* b) { return a->id < b->id; });
  auto handle = std::make_shared<GatherHandle>();
  for (ZeroParam* param : params) param->status = ZeroParam::Status::in_flight;
  const bool by_all_reduce = options.by_all_reduce && !params.front()->secondary.defined();
  const bool is_coalesced = !options.sequential && params.size() > 1 && !by_all_reduce;
  if (options.world_size > 1 && is_coalesced) {
    for (const std::vector<ZeroParam*>& group : by_dtype(params))
      handle->parts.push_back(gather_together(group, options));
    return handle;
  }
  if (options.world_size == 1) {
    for (ZeroParam* param : params) take_partition(*param);
  } else if (options.sequential || params.size() == 1) {
    for (ZeroParam* param : params) gather_in_place(*param, options);
  } else {
    gather_by_all_reduce(params, options);
  }
  handle->parts.push_back({std::move(params), {}});
  return handle;
}

void all_gather(const std::vector<ZeroParam*>& params, const GatherOptions& options) {
  std::vector<Tensor> own;
  for (ZeroParam* param : params) {
    if (param->status != ZeroParam::Status::not_available) continue;
    if (options.world_size == 1 && params.size() > 1) {
      take_partition(*param);
    } else {
      put_data(param->parameter,
               gathered(param->partition_numel * options.world_size, param->partition.dtype()));
      const Tensor sent = param->partition_on_device();
      if (!options.sequential && params.size() > 1) own.push_back(sent);
    }
    param->status = ZeroParam::Status::available;
  }
}

}  // namespace memtape::deepspeed
