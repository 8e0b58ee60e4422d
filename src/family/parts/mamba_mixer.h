// SPDX-License-Identifier: Apache-2.0
// MambaMixer: the selective state space of Mamba and its successors on torch's own ops, as
// transformers runs it if the kernels of mamba-ssm and causal-conv1d are not installed. The scan is
// a loop over the tokens. Mirrors transformers 5.17 models/mamba/modeling_mamba.py,
// models/falcon_mamba/modeling_falcon_mamba.py and models/jamba/modeling_jamba.py.
#pragma once

#include <cstdint>
#include <optional>

#include "family/parts/llama_layer.h"
#include "family/parts/mamba2_mixer.h"
#include "ghost/ops/creation.h"
#include "release/transformers_4_changes.h"
#include "release/transformers_changes.h"

namespace memtape::family {

/// The norms over time steps, B and C.
enum class ScanNorms {
  none,        ///< Mamba
  weightless,  ///< FalconMamba
  rms,         ///< Jamba
};

struct MambaMixerConfig {
  std::int64_t hidden_size, intermediate_size, state_size, conv_kernel, time_step_rank;
  bool use_bias, use_conv_bias;
  nn::Activation activation;
  ScanNorms norms;
};

/// rms_forward: x / rms(x) in float32, cast back.
Tensor rms_forward(const Tensor& x);

/// FalconMambaWeightlessRMSNorm: its weight is a buffer that nothing reads.
class WeightlessRMSNorm : public nn::Module<WeightlessRMSNorm> {
 public:
  WeightlessRMSNorm(const nn::Scope& scope, std::int64_t size);
  Tensor forward(const Tensor& x);
};

class MambaMixer : public nn::Module<MambaMixer> {
 public:
  MambaMixer(const nn::Scope& scope, const MambaMixerConfig& c)
      : Module(scope),
        config_(c),
        conv1d_(scope / "conv1d", Dims{c.intermediate_size, 1, c.conv_kernel}, c.use_conv_bias),
        in_proj_(scope / "in_proj", c.hidden_size, 2 * c.intermediate_size, c.use_bias),
        x_proj_(scope / "x_proj", c.intermediate_size, c.time_step_rank + 2 * c.state_size, false),
        dt_proj_(scope / "dt_proj", c.time_step_rank, c.intermediate_size, true),
        A_(c.norms == ScanNorms::rms ? rows_of_numbers(c, DType::int64) : Tensor()),
        a_log_(scope.parameter(
            "A_log", {c.intermediate_size, c.state_size},
            ghost::has(changes::kMambaFillsItsALog) ? scope.dtype() : DType::float32)),
        d_(scope.parameter("D", {c.intermediate_size})),
        out_proj_(scope / "out_proj", c.intermediate_size, c.hidden_size, c.use_bias) {
    if (c.norms == ScanNorms::weightless && !ghost::has(changes::kMambaScansByFunctions)) {
      scope.buffer("b_c_rms", ghost::ones({c.state_size}, scope.dtype()));
      scope.buffer("dt_rms", ghost::ones({c.intermediate_size}, scope.dtype()));
    } else if (c.norms == ScanNorms::weightless) {
      dt_layernorm_.emplace(scope / "dt_layernorm", c.intermediate_size);
      b_layernorm_.emplace(scope / "b_layernorm", c.state_size);
      c_layernorm_.emplace(scope / "c_layernorm", c.state_size);
    }
    if (c.norms == ScanNorms::rms) {
      dt_norm_.emplace(scope / "dt_layernorm", c.time_step_rank);
      b_norm_.emplace(scope / "b_layernorm", c.state_size);
      c_norm_.emplace(scope / "c_layernorm", c.state_size);
    }
    A_.reset();
  }

  Tensor forward(const Tensor& x, const Tensor& attention_mask);

  /// init_mamba_weights; Jamba's _init_weights has no time steps.
  void init_weights() const;

 private:
  static Tensor rows_of_numbers(const MambaMixerConfig& c, DType dtype);
  Tensor slow_forward(const Tensor& x, const Tensor& attention_mask);
  void look_for_mamba_inner_fn() const;
  void norm_scan_inputs(Tensor& time_step, Tensor& B, Tensor& C);

  MambaMixerConfig config_;
  nn::Convolution conv1d_;
  nn::Linear in_proj_, x_proj_, dt_proj_;
  Tensor A_;  ///< a local of Jamba's __init__, of which A_log is the logarithm
  Tensor a_log_, d_;
  nn::Linear out_proj_;
  std::optional<WeightlessRMSNorm> dt_layernorm_, b_layernorm_, c_layernorm_;
  std::optional<LlamaRMSNorm> dt_norm_, b_norm_, c_norm_;
};

}  // namespace memtape::family
