// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/methods/weight_only.h"

#include <algorithm>

#include "framework/vllm/ops.h"

namespace memtape::vllm {
namespace {

/// Packed integers unpacked into one int32 each: nbytes grow `pack`-fold.
Tensor unpacked(const char* op, const Tensor& packed, std::int64_t pack) {
  return kernel_output(op, {packed.numel() * pack}, DType::int32);
}

}  // namespace

Tensor marlin_permute_scales(const Dims& sizes, DType dtype, bool grouped) {
  const Tensor order = kernel_output("tensor", {grouped ? 64 : 32}, DType::int64);
  return kernel_output("index", sizes, dtype);
}

Tensor marlin_gemm(Runtime& runtime, const Tensor& x, std::int64_t out) {
  constexpr std::int64_t kBlocksPerSm = 4, kTile = 64, kMostColumns = 256;
  const std::int64_t sms = runtime.settings.device.traits.sm_count;
  runtime.use_own_stream();
  runtime.workspace.keep("marlin", sms * kBlocksPerSm * 4);
  const std::int64_t rows = x.numel() / x.size(-1 + x.dim());
  Tensor output = kernel_output("marlin_gemm", x.sizes().leading().with(out), x.dtype());
  // csrc/quantization/marlin: c_tmp, as many rows as a tile of the problem has.
  const std::int64_t tile = std::min<std::int64_t>((rows + 15) / 16 * 16, kTile);
  scratch("marlin_gemm", sms * tile * kMostColumns * 4);
  return output;
}

std::int64_t WeightOnlyLinear::groups(const Linear& layer) const {
  return scheme_.group < 0 ? 1 : layer.in / scheme_.group;
}

bool WeightOnlyLinear::uses_machete(const Linear& layer) const {
  constexpr std::int64_t kTile = 128;
  const bool groups_fit = scheme_.group == -1 || scheme_.group == 64 || scheme_.group == 128;
  return layer.runtime().settings.device.is(9, 0) && groups_fit && layer.in % 64 == 0 &&
         layer.out() % kTile == 0;
}

void WeightOnlyLinear::create_weights(Linear& layer) const {
  const std::int64_t in = layer.in, out = layer.out(), pack = scheme_.pack();
  const std::int64_t g = groups(layer);
  Weights& w = layer.weights;
  switch (scheme_.layout) {
    case PackedLayout::awq:
      w.create("qweight", {in, out / pack}, DType::int32);
      w.create("qzeros", {g, out / pack}, DType::int32);
      w.create("scales", {g, out}, layer.dtype);
      return;
    case PackedLayout::gptq:
      w.create("qweight", {in / pack, out}, DType::int32);
      w.create("qzeros", {g, out / pack}, DType::int32);
      w.create("scales", {g, out}, layer.dtype);
      return;
    case PackedLayout::compressed: {
      w.create("weight_packed", {out, in / pack}, DType::int32);
      w.create("weight_scale", {out, g}, layer.dtype);
      const Tensor zeros = kernel_output("zeros", {out / pack, g}, DType::int32);
      w.create("weight_shape", {2}, DType::int64);
      if (scheme_.zero_points) w.replace("weight_zero_point", zeros);
    }
  }
}

/// auto_awq.py, _convert_awq_to_standard_format.
void WeightOnlyLinear::convert_awq(Linear& layer) const {
  Weights& w = layer.weights;
  const std::int64_t in = layer.in, out = layer.out(), pack = scheme_.pack();
  const std::int64_t g = groups(layer);
  const Tensor reverse_order = kernel_output("tensor", {8}, DType::int64);
  const Tensor shifts = kernel_output("arange", {pack}, DType::int32);
  const auto unpack = [&](const Tensor& packed) {
    Tensor values = unpacked("bitwise_right_shift", packed, pack);
    values = unpacked("bitwise_and", packed, pack);
    return unpacked("index", packed, pack);
  };
  const auto repack = [&](std::int64_t values, const Dims& sizes) {
    const Tensor shifted = kernel_output("bitwise_left_shift", {values}, DType::int32);
    return kernel_output("sum", sizes, DType::int32);
  };
  const Tensor qweight = w.get("qweight");
  const Tensor weights = unpack(qweight);
  w.replace("qweight", repack(in * out, {in / pack, out}));
  const Tensor qzeros = w.get("qzeros");
  // The transpose is packed anew: reshape copies.
  Tensor zeros = unpack(qzeros);
  w.replace("qzeros", repack(g * out, {out / pack, g}));
}

void WeightOnlyLinear::repack_zero_points(Linear& layer) const {
  const std::int64_t out = layer.out(), g = groups(layer);
  const Dims values{g, out};
  Tensor zp = kernel_output("unpack_cols", values, DType::int32);
  zp = marlin_permute_scales(values, DType::int32, true);
  {
    const Tensor interleave = kernel_output("tensor", {8}, DType::int64);
    zp = kernel_output("index", values, DType::int32);
  }
  layer.weights.replace(zeros_name(),
                        kernel_output("pack_cols", {g, out / scheme_.pack()}, DType::int32));
}

void WeightOnlyLinear::repack_for_marlin(Linear& layer) const {
  Weights& w = layer.weights;
  if (scheme_.zero_points) repack_zero_points(layer);
  const std::int64_t in = layer.in, out = layer.out(), g = groups(layer);
  const auto contiguous = [&](const char* name, const Dims& sizes, DType dtype) {
    // Pack-quantized weights lie transposed; one row is contiguous either way.
    return scheme_.layout == PackedLayout::compressed && sizes[0] > 1
               ? kernel_output("contiguous", sizes, dtype)
               : w.get(name);
  };
  {
    const Tensor packed = contiguous(weight_name(), {in / scheme_.pack(), out}, DType::int32);
    w.replace(weight_name(), kernel_output("gptq_marlin_repack",
                                           {in / 16, out * 16 / scheme_.pack()}, DType::int32));
  }
  {
    const Tensor scales = contiguous(scale_name(), {g, out}, layer.dtype);
    w.replace(scale_name(), marlin_permute_scales({g, out}, layer.dtype, g > 1));
  }
  if (!scheme_.zero_points) w.drop(zeros_name());
}

void WeightOnlyLinear::repack_for_machete(Linear& layer) const {
  Weights& w = layer.weights;
  const std::int64_t in = layer.in, out = layer.out(), g = groups(layer);
  const Dims packed{in / scheme_.pack(), out};
  {
    Tensor turned;
    if (scheme_.layout != PackedLayout::compressed)
      turned = kernel_output("contiguous", packed, DType::int32);
    w.replace(weight_name(), kernel_output("machete_prepack_B", packed, DType::int32));
  }
  if (scheme_.layout == PackedLayout::compressed && g > 1)
    w.replace(scale_name(), kernel_output("contiguous", {g, out}, layer.dtype));
  if (!scheme_.zero_points) return;
  const Tensor values = kernel_output("unpack_quantized_values", {g, out}, DType::int32);
  const Tensor negated = kernel_output("mul", {g, out}, layer.dtype);
  const Tensor cast = kernel_output("to", {g, out}, layer.dtype);
  w.replace(zeros_name(), kernel_output("mul", {g, out}, layer.dtype));
}

void WeightOnlyLinear::process_weights(Linear& layer) const {
  if (scheme_.layout == PackedLayout::awq) convert_awq(layer);
  uses_machete(layer) ? repack_for_machete(layer) : repack_for_marlin(layer);
  if (!uses_machete(layer) && layer.bias.defined())
    layer.bias = marlin_permute_scales({layer.out()}, layer.dtype, false);
}

Tensor WeightOnlyLinear::apply(Linear& layer, const Tensor& x, const Tensor&) const {
  if (!uses_machete(layer)) return marlin_gemm(layer.runtime(), x, layer.out());
  return kernel_output("machete_mm", x.sizes().leading().with(layer.out()), x.dtype());
}

}  // namespace memtape::vllm
