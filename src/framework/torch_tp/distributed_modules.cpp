// SPDX-License-Identifier: Apache-2.0
#include "framework/torch_tp/distributed_modules.h"

#include "framework/torch_tp/redistribute.h"

namespace memtape::torch_tp {

void DistributedModules::apply(nn::ModuleNode& node, const Style& style) {
  std::vector<Tensor> distributed;
  hooks_.push_back(apply_style(node, style, mesh_, distributed));
  for (const Tensor& parameter : distributed) distributed_.insert(parameter.ptr().get());
  const bool is_sequence = style.kind == Style::Kind::sequence;
  if (!is_sequence && !style.sums_gradient) return;
  for (const Tensor& parameter : distributed) {
    summed_.insert(parameter.ptr().get());
    // _replicate_module_fn makes a new Parameter, which is trained whether or not the old one was.
    if (is_sequence) parameter.impl().requires_grad = true;
  }
}

bool DistributedModules::needs_placement(const Tensor& parameter, const Tensor& gradient) const {
  return mesh_.size > 1 && (summed_.contains(parameter.ptr().get()) ||
                            (is_distributed(parameter) && gradient.numel() != parameter.numel()));
}

Tensor DistributedModules::in_placement(const Tensor& parameter, const Tensor& gradient) const {
  if (!summed_.contains(parameter.ptr().get())) return select_shard(gradient, mesh_, 0);
  return redistribute_local(gradient, {.mesh = mesh_, .from = kPartial, .to = kReplicate});
}

}  // namespace memtape::torch_tp
