// SPDX-License-Identifier: Apache-2.0
// NVFP4: each byte holds two 4-bit floats; every 16 of them have an fp8 scale, and all together
// have one float32 scale (vllm/model_executor/layers/quantization/modelopt.py,
// compressed_tensors_w4a4_nvfp4.py). Blackwell multiplies in fp4, with the scales of blocks in its
// own tiles. On older devices, Marlin repacks the weights and multiplies in 16 bits.
#pragma once

#include <memory>

#include "framework/vllm/layers/moe.h"

namespace memtape::vllm {

struct NvFp4Scheme {
  bool quantizes_input = true;  ///< W4A4; if false, W4A16
  /// compressed-tensors gives its scales other names, but not other sizes.
  std::int64_t group = 16;
};

class NvFp4Linear final : public LinearMethod {
 public:
  explicit NvFp4Linear(const NvFp4Scheme& scheme) : scheme_(scheme) {}
  void create_weights(Linear& layer) const override;
  void process_weights(Linear& layer) const override;
  Tensor apply(Linear& layer, const Tensor& x, const Tensor& bias) const override;

 private:
  NvFp4Scheme scheme_;
};

std::shared_ptr<const MoeMethod> nvfp4_experts(const NvFp4Scheme& scheme);

}  // namespace memtape::vllm
