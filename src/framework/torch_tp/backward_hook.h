// SPDX-License-Identifier: Apache-2.0
// BackwardHook: nn.Module.register_full_backward_hook (torch/utils/hooks.py), which transformers'
// replicated_with_grad_allreduce adds to norms over the heads of one GPU. It puts identities around
// the module. The gradient of the module's output is held between the backwards of the two.
#pragma once

#include <memory>

#include "ghost/tensor.h"
#include "nn/module.h"

namespace memtape::torch_tp {

class BackwardHook final : public nn::ForwardHooks {
 public:
  void before_forward(ghost::Tensor& input) override;
  void after_forward(ghost::Tensor& output) override;

 private:
  std::shared_ptr<ghost::Tensor> grad_output_;  ///< that of the current call
};

}  // namespace memtape::torch_tp
