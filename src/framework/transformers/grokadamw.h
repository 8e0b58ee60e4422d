// SPDX-License-Identifier: Apache-2.0
// grokadamw 0.1's GrokAdamW (grokadamw.py): three states a parameter, which lie on the CPU and come
// to the GPU one parameter after the other; each gradient is clipped by itself.
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
