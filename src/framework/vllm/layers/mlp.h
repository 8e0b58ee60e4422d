// SPDX-License-Identifier: Apache-2.0
// The feed-forward blocks of dense models: one with gate and up as one projection and an activation
// that multiplies them (SiluAndMul, GeluAndMul), and the plain block of older models.
#pragma once

#include <memory>

#include "framework/vllm/layers/linear.h"

namespace memtape::vllm {

struct MlpOptions {
  bool bias = false;
  bool reduce_results = true;
  bool drops_projection = false;  ///< forward() reassigns x, so the projection is freed earlier
  bool is_replicated = false;     ///< disable_tp
  bool quantized = true;
};

class GatedMlp : public nn::Module<GatedMlp> {
 public:
  GatedMlp(const Place& place, std::int64_t hidden, std::int64_t width, const MlpOptions& options);
  Tensor forward(const Tensor& x);

 private:
  MlpOptions options_;
  Linear gate_up_proj_, down_proj_;
};

/// The names of up, activation and down. Each projection has a bias.
struct PlainMlpNames {
  const char *up, *down;
};
class PlainMlp : public nn::Module<PlainMlp> {
 public:
  PlainMlp(const Place& place, std::int64_t hidden, std::int64_t width, const PlainMlpNames& names);
  Tensor forward(const Tensor& x) { return run(x); }
  /// The same in models where it is not a module: the input is freed when `up` has read it (OPT).
  Tensor run(Tensor x);

 private:
  Linear up_, down_;
};

}  // namespace memtape::vllm
