// SPDX-License-Identifier: Apache-2.0
#include "framework/deepspeed/zero_init.h"

#include <unordered_set>

#include "base/bytes.h"
#include "ghost/autograd/node.h"
#include "ghost/ops/creation.h"
#include "ghost/session.h"

namespace memtape::deepspeed {

/// zero_wrapper_for_fp_tensor_constructor
Tensor ZeroInit::empty(const Dims& sizes, DType dtype) {
  Tensor made = ModuleInit::empty(sizes, dtype);
  if (!is_floating_point(dtype) || dtype == dtype_) return made;
  const ghost::GradMode no_grad(false);
  made = made.to(dtype_);
  ghost::session().set_category(made, Category::parameter);
  return made;
}

/// _zero_init_param and _partition_param: the whole of it goes.
ZeroParam& ZeroInit::cut(const Tensor& parameter) {
  if (const auto known = by_tensor_.find(parameter.ptr().get()); known != by_tensor_.end())
    return *known->second;
  ZeroParam& param = params_.emplace_back();
  by_tensor_.emplace(parameter.ptr().get(), &param);
  param.parameter = parameter;
  param.id = made_++;
  param.numel = parameter.numel();
  param.partition_numel = ceil_div(param.numel, world_size_);
  param.partition_on_host = partitions_on_host_;
  if (hpz_partition_size_ > 1)
    param.secondary_numel = param.partition_numel * world_size_ / hpz_partition_size_;
  param.make_secondary();
  {
    const ghost::HostGuard host(param.partition_on_host);
    const ghost::Op op("empty", {});
    param.partition = ghost::empty({param.partition_numel}, parameter.dtype(), Category::parameter);
  }
  param.release();
  return param;
}

void ZeroInit::keep_only(const std::vector<Tensor>& parameters) {
  std::unordered_set<const ghost::TensorImpl*> kept;
  for (const Tensor& p : parameters) kept.insert(p.ptr().get());
  std::deque<ZeroParam> left;
  by_tensor_.clear();
  for (ZeroParam& param : params_) {
    if (!kept.contains(param.parameter.ptr().get())) continue;
    left.push_back(std::move(param));
    by_tensor_.emplace(left.back().parameter.ptr().get(), &left.back());
  }
  params_ = std::move(left);
}

/// _post_init_method
void ZeroInit::after_init(nn::ModuleNode& module) {
  const ghost::GradMode no_grad(false);
  for (const nn::ModuleNode::Named& p : module.parameters) cut(p.tensor);
}

}  // namespace memtape::deepspeed
