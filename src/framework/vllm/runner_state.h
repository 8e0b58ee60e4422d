// SPDX-License-Identifier: Apache-2.0
// What the V2 model runner keeps for every request slot, whatever the model: token counts and input
// buffers (worker/gpu/states.py, input_batch.py), and the samplers' state (worker/gpu/sample).
// Tensors in unified virtual addressing are the host's and are not here.
#pragma once

#include <vector>

#include "framework/vllm/settings.h"
#include "ghost/tensor.h"

namespace memtape::vllm {

class RunnerState {
 public:
  explicit RunnerState(const Settings& settings);
  const ghost::Tensor& input_ids() const { return input_ids_; }
  const ghost::Tensor& positions() const { return positions_; }

 private:
  std::vector<ghost::Tensor> kept_;
  ghost::Tensor input_ids_, positions_;
};

class SamplerState {
 public:
  SamplerState(const Settings& settings, std::int64_t vocabulary);

 private:
  std::vector<ghost::Tensor> kept_;
};

}  // namespace memtape::vllm
