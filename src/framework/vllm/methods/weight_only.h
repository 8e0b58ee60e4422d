// SPDX-License-Identifier: Apache-2.0
// WeightOnlyLinear: integers of 4 or 8 bits, packed in int32, with scales for groups: AWQ, GPTQ and
// pack-quantized of compressed-tensors. Each is laid out as in its checkpoint and repacked for the
// device's kernel, which is Machete on Hopper and Marlin otherwise
// (vllm/model_executor/kernels/linear/mixed_precision).
#pragma once

#include "framework/vllm/layers/linear.h"

namespace memtape::vllm {

enum class PackedLayout : std::uint8_t { awq, gptq, compressed };

struct PackedScheme {
  PackedLayout layout = PackedLayout::gptq;
  std::int64_t bits = 4, group = 128;  ///< a group of -1 means one scale for each column
  bool zero_points = false;

  std::int64_t pack() const { return 32 / bits; }
};

class WeightOnlyLinear final : public LinearMethod {
 public:
  explicit WeightOnlyLinear(const PackedScheme& scheme) : scheme_(scheme) {}
  void create_weights(Linear& layer) const override;
  void process_weights(Linear& layer) const override;
  Tensor apply(Linear& layer, const Tensor& x, const Tensor& bias) const override;

 private:
  bool uses_machete(const Linear& layer) const;
  void convert_awq(Linear& layer) const;
  void repack_for_marlin(Linear& layer) const;
  void repack_for_machete(Linear& layer) const;
  void repack_zero_points(Linear& layer) const;
  std::int64_t groups(const Linear& layer) const;
  const char* weight_name() const {
    return scheme_.layout == PackedLayout::compressed ? "weight_packed" : "qweight";
  }
  const char* scale_name() const {
    return scheme_.layout == PackedLayout::compressed ? "weight_scale" : "scales";
  }
  const char* zeros_name() const {
    return scheme_.layout == PackedLayout::compressed ? "weight_zero_point" : "qzeros";
  }

  PackedScheme scheme_;
};

/// Marlin's product (marlin_utils.py, _marlin_gemm): locks that are kept for all layers, the output
/// and, as long as the product runs, a float32 buffer for the reduction.
Tensor marlin_gemm(Runtime& runtime, const Tensor& x, std::int64_t out);
/// Marlin's permutation of scales: it makes an index of 64 or 32 entries, and the result.
Tensor marlin_permute_scales(const Dims& sizes, DType dtype, bool grouped);

}  // namespace memtape::vllm
