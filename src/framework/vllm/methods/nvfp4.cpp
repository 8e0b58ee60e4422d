// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/methods/nvfp4.h"

#include <algorithm>
#include <vector>

#include "framework/vllm/methods/moe_methods.h"
#include "framework/vllm/methods/weight_only.h"
#include "framework/vllm/ops.h"

namespace memtape::vllm {
namespace {

constexpr std::int64_t kPerByte = 2;
constexpr std::int64_t kTileRows = 128, kTileColumns = 4;  ///< of swizzled block scales

/// Weights alone are left to Marlin on every card (MarlinNvFp4LinearKernel; use_a16 of the experts).
bool multiplies_in_fp4(const Runtime& runtime, const NvFp4Scheme& scheme) {
  return scheme.quantizes_input && runtime.settings.device.capability() >= 100;
}

/// nvfp4_utils.py, swizzle_blockscale: whole tiles, two copies on the way.
Tensor swizzled_scales(std::int64_t experts, std::int64_t rows, std::int64_t columns) {
  const Dims sizes{experts, round_up(rows, kTileRows), round_up(columns, kTileColumns)};
  const Tensor padded = kernel_output("zeros", sizes, DType::float8_e4m3fn);
  return kernel_output("contiguous", sizes, DType::float8_e4m3fn);
}

/// marlin_utils_fp4.py: scales in the activations' type, permuted, then in half precision on the
/// way back to fp8.
Tensor marlin_scales(const Dims& sizes, DType dtype) {
  const Tensor cast = kernel_output("to", sizes, dtype);
  const Tensor permuted = marlin_permute_scales(sizes, dtype, true);
  const Tensor half = kernel_output("to", sizes, DType::float16);
  const Tensor interleaved = kernel_output("index", sizes, DType::float16);
  return kernel_output("to", sizes, DType::float8_e4m3fn);
}

}  // namespace

void NvFp4Linear::create_weights(Linear& layer) const {
  Weights& w = layer.weights;
  const std::int64_t in = layer.in, out = layer.out();
  const auto parts = static_cast<std::int64_t>(layer.outs.size());
  if (in % scheme_.group != 0)
    ghost::session().fail({ErrorKind::bad_input, "NVFP4 needs widths of whole groups of 16",
                           "quantization_config", "leave " + layer.place().prefix() + " out"});
  w.create("weight", {out, in / kPerByte}, DType::uint8);
  w.create("weight_scale_2", {parts}, DType::float32);
  w.create("weight_scale", {out, in / scheme_.group}, DType::float8_e4m3fn);
  if (scheme_.quantizes_input) w.create("input_scale", {parts}, DType::float32);
}

void NvFp4Linear::process_weights(Linear& layer) const {
  Weights& w = layer.weights;
  const std::int64_t in = layer.in, out = layer.out();
  const auto scalar = [&](const char* name) {
    w.replace(name, kernel_output("max", {}, DType::float32));
  };
  scalar("weight_scale_2");
  if (scheme_.quantizes_input) {
    scalar("input_scale");
    w.create("input_global_scale_inv", {}, DType::float32);
    w.create("alpha", {}, DType::float32);
  }
  if (multiplies_in_fp4(layer.runtime(), scheme_)) {
    const Tensor scales = swizzled_scales(1, out, in / scheme_.group);
    w.replace("weight_scale", scales);
    return;
  }
  {
    const Tensor turned = kernel_output("contiguous", {in / 8, out}, DType::int32);
    w.replace("weight", kernel_output("gptq_marlin_repack", {in / 16, out * 2}, DType::int32));
  }
  w.replace("weight_scale", marlin_scales({in / scheme_.group, out}, layer.dtype));
  if (layer.bias.defined()) layer.bias = marlin_permute_scales({out}, layer.dtype, false);
}

Tensor NvFp4Linear::apply(Linear& layer, const Tensor& x, const Tensor& bias) const {
  if (!multiplies_in_fp4(layer.runtime(), scheme_))
    return marlin_gemm(layer.runtime(), x, layer.out());
  const std::int64_t rows = x.numel() / layer.in;
  const Tensor quantized =
      kernel_output("scaled_fp4_quant", {rows, layer.in / kPerByte}, DType::uint8);
  const Tensor scales =
      kernel_output("scaled_fp4_quant",
                    {round_up(rows, kTileRows), round_up(layer.in / scheme_.group, kTileColumns)},
                    DType::float8_e4m3fn);
  const Dims sizes = x.sizes().leading().with(layer.out());
  Tensor out = kernel_output("cutlass_scaled_fp4_mm", sizes, x.dtype());
  return bias.defined() ? kernel_output("add", sizes, x.dtype()) : out;
}

namespace {

class NvFp4Experts final : public MoeMethod {
 public:
  explicit NvFp4Experts(const NvFp4Scheme& scheme) : scheme_(scheme) {}

  void create_weights(Weights& w, const ExpertShape& s, DType) const override {
    const std::int64_t e = s.local_experts, parts = s.gated ? 2 : 1;
    w.create("w13_weight", {e, s.up(), s.hidden / kPerByte}, DType::uint8);
    w.create("w2_weight", {e, s.hidden, s.intermediate / kPerByte}, DType::uint8);
    w.create("w13_weight_scale", {e, s.up(), s.hidden / scheme_.group}, DType::float8_e4m3fn);
    w.create("w2_weight_scale", {e, s.hidden, s.intermediate / scheme_.group},
             DType::float8_e4m3fn);
    w.create("w13_weight_scale_2", {e, parts}, DType::float32);
    w.create("w2_weight_scale_2", {e}, DType::float32);
    w.create("w13_input_scale", {e, parts}, DType::float32);
    w.create("w2_input_scale", {e}, DType::float32);
  }

  void process_weights(Weights& w, const ExpertShape& s, Runtime& runtime) const override {
    const std::int64_t e = s.local_experts;
    w.replace("w13_weight_scale_2", kernel_output("contiguous", {e}, DType::float32));
    if (multiplies_in_fp4(runtime, scheme_)) {
      w.replace("w13_weight_scale", swizzled_scales(e, s.up(), s.hidden / scheme_.group));
      w.replace("w2_weight_scale", swizzled_scales(e, s.hidden, s.intermediate / scheme_.group));
      w.replace("w13_input_scale", kernel_output("max", {e}, DType::float32));
      return;
    }
    const ExpertShape p = padded(s);
    const Tensor w13 = repacked_experts(e, p.up() * p.hidden / kPerByte);
    const Tensor w2 = repacked_experts(e, p.hidden * p.intermediate / kPerByte);
    const Tensor s13 = expert_scales(e, p.up() * p.hidden / scheme_.group, runtime.dtype());
    const Tensor s2 = expert_scales(e, p.hidden * p.intermediate / scheme_.group, runtime.dtype());
    w.replace("w13_weight", w13);
    w.replace("w2_weight", w2);
    w.replace("w13_weight_scale", s13);
    w.replace("w2_weight_scale", s2);
    for (const char* name : {"w13_input_scale", "w2_input_scale"}) w.drop(name);
  }

  Tensor apply(Runtime& runtime, const ExpertShape& s, const Tensor& x) const override {
    if (!multiplies_in_fp4(runtime, scheme_)) return marlin_experts(runtime, padded(s), x);
    return run_cutlass(runtime, s, x);
  }

 private:
  /// run_cutlass_moe_fp4 of experts/cutlass_moe.py: rows in the experts' order, quantized for each
  /// product, and the weighed sum of what comes back.
  Tensor run_cutlass(Runtime& runtime, const ExpertShape& s, const Tensor& x) const {
    const std::int64_t pairs = x.size(0) * s.top_k;
    const DType dtype = x.dtype();
    Tensor output = kernel_output("fused_experts", x.sizes(), dtype);
    runtime.workspace.reserve(
        {bytes_of(dtype, pairs * std::max(2 * s.up(), s.hidden)), bytes_of(dtype, pairs * s.up())});
    const std::int64_t e = s.local_experts;
    const Tensor offsets = kernel_output("empty", {e + 1}, DType::int32);
    const Tensor scale_offsets = kernel_output("empty", {e + 1}, DType::int32);
    const Tensor first_sizes = kernel_output("empty", {e, 3}, DType::int32);
    const Tensor second_sizes = kernel_output("empty", {e, 3}, DType::int32);
    const Tensor a_map = kernel_output("empty", {pairs}, DType::int32);
    const Tensor c_map = kernel_output("empty", {pairs}, DType::int32);
    const Dims rows{pairs, s.hidden};
    const Tensor shuffled = kernel_output("shuffle_rows", rows, dtype);
    quantize_rows(s, pairs, s.hidden);
    quantize_rows(s, pairs, s.intermediate);
    const Tensor back = kernel_output("shuffle_rows", rows, dtype);
    {
      const Tensor weighed = kernel_output("mul", rows, dtype);
      const Tensor sum = kernel_output("sum", x.sizes(), dtype);
    }
    return output;
  }
  /// scaled_fp4_experts_quant: scales for as many rows as one expert could be given.
  static void quantize_rows(const ExpertShape& s, std::int64_t pairs, std::int64_t width) {
    constexpr std::int64_t kMostRows = 163840;  // VLLM_MAX_TOKENS_PER_EXPERT_FP4_MOE
    constexpr std::int64_t kGroup = 16, kPacked = 4;
    const Tensor values =
        kernel_output("scaled_fp4_experts_quant", {pairs, width / kPerByte}, DType::uint8);
    const Tensor scales =
        kernel_output("scaled_fp4_experts_quant",
                      {kMostRows * s.top_k, ceil_div(width / kGroup, kPacked)}, DType::int32);
  }

  /// prepare_nvfp4_moe_layer_for_marlin: Marlin's tiles.
  static ExpertShape padded(ExpertShape s) {
    s.intermediate = round_up(s.intermediate, s.hidden % 128 == 0 ? 64 : 128);
    return s;
  }
  static Tensor expert_scales(std::int64_t experts, std::int64_t each, DType dtype) {
    const Tensor cast = kernel_output("to", {experts, each}, dtype);
    std::vector<Tensor> made;
    for (std::int64_t e = 0; e < experts; ++e) made.push_back(marlin_scales({each}, dtype));
    return kernel_output("cat", {experts, each}, DType::float8_e4m3fn);
  }

  NvFp4Scheme scheme_;
};

}  // namespace

std::shared_ptr<const MoeMethod> nvfp4_experts(const NvFp4Scheme& scheme) {
  return std::make_shared<NvFp4Experts>(scheme);
}

}  // namespace memtape::vllm
