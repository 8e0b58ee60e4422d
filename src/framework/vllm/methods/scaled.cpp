// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/methods/scaled.h"

#include "framework/vllm/methods/online.h"
#include "framework/vllm/methods/weight_only.h"
#include "framework/vllm/ops.h"

namespace memtape::vllm {
/// Ada and Hopper have the units; before them Marlin dequantizes.
bool ScaledLinear::uses_marlin(const Linear& layer) const {
  return scheme_.weight == DType::float8_e4m3fn &&
         layer.runtime().settings.device.capability() < 89;
}

bool ScaledLinear::processes_while_loading(const Linear& layer) const {
  if (!scheme_.online) return false;
  const Settings& s = layer.runtime().settings;
  const OnlineLoading loading = online_loading(s);
  if (loading != OnlineLoading::beside) return loading == OnlineLoading::streamed;
  const std::int64_t wanted = layer.in * layer.out();
  const std::int64_t ranks = layer.full_in * layer.full_out / wanted;
  std::vector<std::int64_t> loaded;
  for (const std::int64_t out : layer.outs) loaded.push_back(out * layer.in * ranks);
  return is_seen_complete(s, wanted, loaded);
}

void ScaledLinear::create_weights(Linear& layer) const {
  Weights& w = layer.weights;
  const std::int64_t in = layer.in, out = layer.out();
  if (scheme_.online) {
    if (online_loading(w.settings()) != OnlineLoading::streamed)
      w.create("weight", {out, in}, layer.dtype);
    return;
  }
  w.create("weight", {out, in}, scheme_.weight);
  const auto parts = static_cast<std::int64_t>(layer.outs.size());
  switch (scheme_.scales) {
    case ScaleShape::tensor: w.create("weight_scale", {parts}, DType::float32); break;
    case ScaleShape::channel: w.create("weight_scale", {out, 1}, DType::float32); break;
    case ScaleShape::block:
      w.create(scale_name(),
               {ceil_div(out, scheme_.block_rows), ceil_div(in, scheme_.block_columns)},
               DType::float32);
  }
  if (scheme_.static_activation) w.create("input_scale", {parts}, DType::float32);
}

/// online/fp8.py: the weight as it is loaded, its largest value, the quantized copy.
void ScaledLinear::quantize(Linear& layer) const {
  const Dims sizes{layer.out(), layer.in};
  const OnlineLoading loading = online_loading(layer.runtime().settings);
  const bool is_streamed = loading == OnlineLoading::streamed;
  Tensor loaded = is_streamed ? kernel_output("materialize_meta_tensor", sizes, layer.dtype)
                              : layer.weights.get("weight");
  const Tensor scale = kernel_output("div", {}, DType::float32);
  layer.weights.replace("weight", kernel_output("scaled_fp8_quant", sizes, scheme_.weight));
  layer.weights.replace("weight_scale", scale);
  if (loading == OnlineLoading::beside && processes_while_loading(layer))
    layer.runtime().referred.push_back(loaded);
  if (!is_streamed) loaded.reset();
  if (uses_marlin(layer)) pack_for_marlin(layer);
}

/// marlin_utils_fp8.py, prepare_fp8_layer_for_marlin.
void ScaledLinear::pack_for_marlin(Linear& layer) const {
  Weights& w = layer.weights;
  const Tensor weight = w.get("weight");
  const Tensor packed =
      kernel_output("pack_fp8_to_int32", {layer.in / 4, layer.out()}, DType::int32);
  w.replace("weight",
            kernel_output("gptq_marlin_repack", {layer.in / 16, layer.out() * 4}, DType::int32));
  const std::int64_t groups =
      scheme_.scales == ScaleShape::block ? ceil_div(layer.in, scheme_.block_columns) : 1;
  const Dims scales{groups, layer.out()};
  const Tensor repeated = kernel_output("repeat_interleave", scales, layer.dtype);
  Tensor permuted = marlin_permute_scales(scales, layer.dtype, groups > 1);
  const Tensor ones = kernel_output("ones_like", scales, layer.dtype);
  w.replace(scale_name(), kernel_output("mul", scales, layer.dtype));
  if (layer.bias.defined()) layer.bias = marlin_permute_scales({layer.out()}, layer.dtype, false);
}

void ScaledLinear::process_weights(Linear& layer) const {
  if (scheme_.online) return quantize(layer);
  if (uses_marlin(layer)) return pack_for_marlin(layer);
  Weights& w = layer.weights;
  if (scheme_.scales == ScaleShape::tensor && layer.outs.size() > 1) {
    // requantize_with_max_scale: each matrix in turn, in place; the scales become one.
    for (const std::int64_t out : layer.outs) {
      const Tensor dequantized = kernel_output("mul", {out, layer.in}, DType::float32);
      const Tensor part = kernel_output("scaled_fp8_quant", {out, layer.in}, scheme_.weight);
    }
    w.replace("weight_scale", kernel_output("max", {}, DType::float32));
  }
  if (scheme_.static_activation) w.replace("input_scale", kernel_output("max", {}, DType::float32));
  if (scheme_.weight == DType::int8) {
    // cutlass.py of the int8 kernels keeps the transposed view.
    return;
  }
}

Tensor ScaledLinear::apply(Linear& layer, const Tensor& x, const Tensor&) const {
  if (uses_marlin(layer)) return marlin_gemm(layer.runtime(), x, layer.out());
  const std::int64_t rows = x.numel() / x.size(x.dim() - 1);
  const Dims sizes = x.sizes().leading().with(layer.out());
  if (x.dtype() == scheme_.weight) return kernel_output("scaled_mm", sizes, layer.dtype);
  const Tensor quantized = kernel_output("scaled_quant", x.sizes(), scheme_.weight);
  const std::int64_t scales = scheme_.static_activation ? 0
                              : scheme_.scales == ScaleShape::block
                                  ? rows * ceil_div(layer.in, scheme_.block_columns)
                                  : rows;
  const Tensor scale = kernel_output("scale", {scales}, DType::float32);
  return kernel_output("scaled_mm", sizes, x.dtype());
}

}  // namespace memtape::vllm
