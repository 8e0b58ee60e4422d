// SPDX-License-Identifier: Apache-2.0
#include "framework/deepspeed/zero_param.h"

#include <algorithm>
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
  const Tensor own = param.partition_on_device();
  put_data(param.parameter, buffer);
}

/// Views of one zeroed buffer, which is reduced.
void gather_by_all_reduce(GatherHandle& handle, const GatherOptions& options) {
  std::int64_t elements = 0;
  for (const ZeroParam* param : handle.params)
    elements += param->partition_numel * options.world_size;
  const Tensor buffer = gathered(elements, handle.params.front()->partition.dtype());
  for (const ZeroParam* param : handle.params) put_data(param->parameter, buffer);
}

/// _all_gather_dtype: this rank's partitions are joined in their place in the buffer.
void gather_together(GatherHandle& handle, const GatherOptions& options) {
  std::int64_t elements = 0;
  for (const ZeroParam* param : handle.params) elements += param->partition_numel;
  const Op op("all_gather", {});
  handle.flat = ghost::empty({elements * options.world_size},
                             handle.params.front()->partition.dtype(), Category::communication);
  std::vector<Tensor> own;
  for (const ZeroParam* param : handle.params) own.push_back(param->partition_on_device());
}

}  // namespace

Tensor ZeroParam::partition_on_device() const {
  if (!partition_on_host) return partition;
  const Op op("_to_copy", {});
  return ghost::empty({partition_numel}, partition.dtype(), Category::communication);
}

void ZeroParam::release() {
  if (!is_available()) return;
  ghost::Session& s = ghost::session();
  ghost::TensorImpl& impl = parameter.impl();
  if (impl.storage) s.record_stream(parameter, s.stream);
  impl.storage.reset();
  status = Status::not_available;
}

void GatherHandle::wait() {
  if (std::exchange(complete, true)) return;
  for (ZeroParam* param : params) {
    param->status = ZeroParam::Status::available;
    if (!flat.defined()) continue;
    const Op op("cat", {});
    put_data(param->parameter, ghost::empty({param->numel}, flat.dtype(), Category::parameter));
    ghost::session().record_stream(flat, ghost::session().stream);
  }
}

std::shared_ptr<GatherHandle> all_gather_coalesced(std::vector<ZeroParam*> params,
                                                   const GatherOptions& options) {
  std::sort(params.begin(), params.end(),
            [](const ZeroParam* a, const ZeroParam* b) { return a->id < b->id; });
  auto handle = std::make_shared<GatherHandle>();
  handle->params = std::move(params);
  for (ZeroParam* param : handle->params) param->status = ZeroParam::Status::in_flight;
  if (options.world_size == 1) {
    for (ZeroParam* param : handle->params) take_partition(*param);
  } else if (options.sequential || handle->params.size() == 1) {
    for (ZeroParam* param : handle->params) gather_in_place(*param, options);
  } else if (options.by_all_reduce) {
    gather_by_all_reduce(*handle, options);
  } else {
    gather_together(*handle, options);
  }
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
