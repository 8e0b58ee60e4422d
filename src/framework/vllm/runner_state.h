// SPDX-License-Identifier: Apache-2.0
// What the V2 model runner keeps for every request slot, whatever the model is: token counts and
// input buffers (worker/gpu/states.py, input_batch.py), and the state of the samplers
// (worker/gpu/sample). It also has what the V1 runner keeps if a recent worker runs it
// (worker/gpu_model_runner.py). Tensors in unified virtual addressing lie on the host and are not
// counted here.
#pragma once

#include <vector>

#include "framework/vllm/settings.h"
#include "ghost/tensor.h"

namespace memtape::vllm {

class RunnerState {
 public:
  /// `hidden` is the width of the embeddings and of the hidden states that a drafter gets.
  RunnerState(const Settings& settings, std::int64_t hidden);
  const ghost::Tensor& input_ids() const { return input_ids_; }
  const ghost::Tensor& positions() const { return positions_; }
  /// The target's hidden states, as the drafter reads them.
  const ghost::Tensor& drafter_hidden() const { return drafter_hidden_; }

 private:
  void keep(const ghost::Dims& sizes, DType dtype);
  void make_ngram_buffers(const Settings& settings);
  void make_drafter_buffers(const Settings& settings);
  void make_reader_buffers(const Settings& settings, std::int64_t hidden);
  void make_draft_model_buffers(const Settings& settings);
  void make_input_buffers(const Settings& settings);
  void make_v1_buffers(const Settings& settings, std::int64_t hidden);

  std::vector<ghost::Tensor> kept_;
  ghost::Tensor input_ids_, positions_, drafter_hidden_;
};

class SamplerState {
 public:
  SamplerState(const Settings& settings, std::int64_t vocabulary);

 private:
  std::vector<ghost::Tensor> kept_;
};

}  // namespace memtape::vllm
