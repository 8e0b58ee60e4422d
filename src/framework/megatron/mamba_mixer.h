// SPDX-License-Identifier: Apache-2.0
// MambaMixer (megatron/core/ssm/mamba_mixer.py): one product makes z, x, B, C and dt, one kernel of
// mamba_ssm convolves and scans them (mamba_split_conv1d_scan_combined,
// ops/triton/ssd_combined.py), and a norm and a product follow. The kernel keeps its input and its
// output before the gate. Its backward computes everything between them again.
#pragma once

#include "framework/megatron/linear.h"

namespace memtape::megatron {

class MambaMixer {
 public:
  MambaMixer(const nn::Scope& scope, Rank& rank);
  Tensor operator()(const Tensor& x);

 private:
  Tensor scanned(const Tensor& zxbcdt);
  Tensor normed(const Tensor& x);

  Rank& rank_;
  ScopeId scope_;
  std::optional<Linear> in_proj_, out_proj_;
  Tensor conv_weight_, conv_bias_, dt_bias_, a_log_, d_, norm_weight_;
  Tensor a_neg_exp_cache_;  ///< it is for inference, but is allocated in training, too
};

}  // namespace memtape::megatron
