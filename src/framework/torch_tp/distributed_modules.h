// SPDX-License-Identifier: Apache-2.0
// DistributedModules: what parallelize_module has done to a model: the hooks around its modules,
// which parameters are DTensors, and how a gradient gets into the placement of its parameter.
#pragma once

#include <memory>
#include <unordered_set>
#include <vector>

#include "framework/torch_tp/placement.h"
#include "framework/torch_tp/style.h"
#include "nn/module.h"

namespace memtape::torch_tp {

class DistributedModules {
 public:
  explicit DistributedModules(const Mesh& mesh) : mesh_(mesh) {}

  void apply(nn::ModuleNode& node, const Style& style);

  bool is_distributed(const Tensor& parameter) const {
    return distributed_.contains(parameter.ptr().get());
  }
  /// Whether a gradient lies in another way than its parameter: it is whole and the parameter is
  /// divided, or it is a summand.
  bool needs_placement(const Tensor& parameter, const Tensor& gradient) const;
  Tensor in_placement(const Tensor& parameter, const Tensor& gradient) const;

 private:
  Mesh mesh_;
  std::vector<std::unique_ptr<nn::ForwardHooks>> hooks_;
  std::unordered_set<const ghost::TensorImpl*> distributed_, summed_;
};

}  // namespace memtape::torch_tp
