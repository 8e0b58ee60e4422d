// SPDX-License-Identifier: Apache-2.0
// GrokAdamW of grokadamw 0.1 (grokadamw.py): it has three states for each parameter, which lie on
// the CPU and come to the GPU one parameter after the other. Each gradient is clipped separately.
#pragma once

#include "framework/torch/optimizer.h"

namespace memtape::transformers {

class GrokAdamW final : public torch::Optimizer {
 public:
  explicit GrokAdamW(torch::TensorList parameters) : Optimizer(std::move(parameters)) {}

 private:
  void step_over(const torch::Places& places) override;
  std::vector<const torch::TensorList*> states() const override { return {}; }
};

}  // namespace memtape::transformers
