// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/methods/moe_methods.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "framework/vllm/methods/online.h"
#include "framework/vllm/ops.h"

namespace memtape::vllm {
namespace {

/// marlin_moe.py: the rows of a tile, by how many pairs an expert sees.
std::int64_t marlin_block_m(const ExpertShape& s, std::int64_t tokens) {
  for (const std::int64_t block : {8, 16, 32, 48})
    if (static_cast<double>(tokens * s.top_k) / static_cast<double>(s.experts) /
            static_cast<double>(block) <
        0.9)
      return block;
  return 64;
}

/// Scales of MXFP4 cast to the activations' type, permuted, and brought back to one byte.
Tensor permuted_scales(std::int64_t experts, std::int64_t each, DType dtype) {
  const Tensor cast = kernel_output("to", {experts, each}, dtype);
  std::vector<Tensor> made;
  for (std::int64_t e = 0; e < experts; ++e) {
    Tensor scales = kernel_output("contiguous", {each}, dtype);
    scales = marlin_permute_scales({each}, dtype, true);
    const Tensor interleaved = kernel_output("index", {each}, dtype);
    made.push_back(kernel_output("to", {each}, DType::uint8));
  }
  return kernel_output("stack", {experts, each}, DType::uint8);
}

/// triton_kernels' layouts for Hopper (hopper_value.py, hopper_scale.py), op by op: what they leave
/// in the cache is more than what they keep.
class HopperLayout {
 public:
  /// swizzle_data of the values: as many bytes as before.
  static Tensor value(Bytes bytes) {
    Tensor data = kernel_output("pad", {bytes}, DType::uint8);
    data = kernel_output("contiguous", {bytes}, DType::uint8);
    return packed(bytes);
  }
  /// swizzle_data of the scales, padded to whole tiles.
  static Tensor scale(std::int64_t experts, std::int64_t rows, std::int64_t groups) {
    constexpr std::int64_t kRows = 256, kGroups = 4;
    const auto copy = [&](std::int64_t r, std::int64_t g) {
      return kernel_output("copy", {experts, r, g}, DType::uint8);
    };
    const std::int64_t wide = round_up(groups, kGroups);
    const Tensor padded = copy(rows, wide);
    Tensor data;
    {
      const Tensor turned = copy(rows, wide);
      data = copy(rows, wide);
    }
    data = copy(round_up(rows, kRows), wide);
    data = copy(round_up(rows, kRows), wide);
    return data;
  }

 private:
  static Tensor op(Bytes bytes) { return kernel_output("pack_bits", {bytes}, DType::uint8); }
  /// _pack_bits: four values of each byte spread over an int32, so every step is as large as all.
  static Tensor packed(Bytes bytes) {
    const Tensor first = both(bytes, 2), second = both(bytes, 2), third = both(bytes, 2),
                 fourth = both(bytes, 3);
    Tensor sum = shifted(bytes);
    sum = op(bytes);
    for (int i = 0; i < 2; ++i) {
      const Tensor part = i == 0 ? shifted(bytes) : fourth;
      sum = op(bytes);
    }
    return sum;
  }
  static Tensor shifted(Bytes bytes) {
    const Tensor right = op(bytes);
    return op(bytes);
  }
  /// _compress_fp4 or _compress_fourth: terms of (x & mask) << bits, joined.
  static Tensor compressed(Bytes bytes, int terms) {
    const Tensor wide = op(bytes);
    Tensor sum;
    for (int i = 0; i < terms; ++i) {
      Tensor term = op(bytes);
      term = op(bytes);
      sum = i == 0 ? term : op(bytes);
    }
    return sum;
  }
  static Tensor both(Bytes bytes, int terms) {
    const Tensor low = compressed(bytes, terms);
    Tensor high;
    {
      const Tensor nibble = op(bytes / 4);
      high = compressed(bytes, terms);
    }
    high = op(bytes);
    return op(bytes);
  }
};

class Mxfp4Experts final : public MoeMethod {
 public:
  Mxfp4Experts(bool marlin, bool has_bias) : marlin_(marlin), has_bias_(has_bias) {}

  /// mxfp4_round_up_hidden_size_and_intermediate_size of oracle/mxfp4.py.
  ExpertShape padded(ExpertShape s) const {
    s.intermediate = round_up(s.intermediate, marlin_ ? 128 : 64);
    if (marlin_) s.hidden = round_up(s.hidden, 256);
    return s;
  }

  void create_weights(Weights& w, const ExpertShape& shape, DType dtype) const override {
    const ExpertShape s = padded(shape);
    const std::int64_t e = s.local_experts;
    w.create("w13_weight", {e, s.up(), s.hidden / 2}, DType::uint8);
    w.create("w13_weight_scale", {e, s.up(), s.hidden / kBlock}, DType::uint8);
    w.create("w2_weight", {e, s.hidden, s.intermediate / 2}, DType::uint8);
    w.create("w2_weight_scale", {e, s.hidden, s.intermediate / kBlock}, DType::uint8);
    if (!has_bias_) return;
    w.create("w13_bias", {e, s.up()}, dtype);
    w.create("w2_bias", {e, s.hidden}, dtype);
  }

  void process_weights(Weights& w, const ExpertShape& shape, Runtime& runtime) const override {
    const ExpertShape s = padded(shape);
    if (!marlin_) return swizzle(w, s, runtime);
    const std::int64_t e = s.local_experts;
    const Tensor w13 = repacked_experts(e, s.up() * s.hidden / 2);
    const Tensor w2 = repacked_experts(e, s.hidden * s.intermediate / 2);
    const Tensor s13 = permuted_scales(e, s.up() * s.hidden / kBlock, runtime.dtype());
    const Tensor s2 = permuted_scales(e, s.hidden * s.intermediate / kBlock, runtime.dtype());
    if (has_bias_) {
      w.replace("w13_bias", kernel_output("stack", {e, s.up()}, runtime.dtype()));
      w.replace("w2_bias", kernel_output("stack", {e, s.hidden}, runtime.dtype()));
    }
    w.replace("w13_weight", w13);
    w.replace("w2_weight", w2);
    w.replace("w13_weight_scale", s13);
    w.replace("w2_weight_scale", s2);
  }

  bool is_monolithic() const override { return !marlin_; }
  std::int64_t hidden_width(const ExpertShape& shape) const override {
    return padded(shape).hidden;
  }
  Tensor apply(Runtime& runtime, const ExpertShape& shape, const Tensor& x) const override {
    const ExpertShape s = padded(shape);
    if (!marlin_) return triton_kernels(runtime, s, x);
    return marlin_experts(runtime, s, x);
  }

 private:
  static constexpr std::int64_t kBlock = 32;

  /// triton_kernels' own tensors take the weights' place: they are no parameters any more.
  static void swizzle(Weights& w, const ExpertShape& s, Runtime& runtime) {
    std::vector<Tensor> biases;
    for (const char* name : {"w13_bias", "w2_bias"})
      if (w.get(name).defined())
        biases.push_back(kernel_output("to", w.get(name).sizes(), DType::float32));
    for (const auto& [name, rows, columns] : {std::tuple{"w13_weight", s.up(), s.hidden},
                                              std::tuple{"w2_weight", s.hidden, s.intermediate}}) {
      runtime.kept.push_back(HopperLayout::value(w.get(name).nbytes()));
      runtime.kept.push_back(HopperLayout::scale(s.local_experts, rows, columns / kBlock));
    }
    for (const char* name : {"w13_weight", "w2_weight"}) w.drop(name);
    // Releases with the first runner kept the scales as they were loaded beside their own layout.
    if (runtime.settings.runner == Runner::v2)
      for (const char* name : {"w13_weight_scale", "w2_weight_scale"}) w.drop(name);
    if (biases.empty()) return;
    w.replace("w13_bias", biases[0]);
    w.replace("w2_bias", biases[1]);
  }

  /// gpt_oss_triton_kernels_moe.py: the routing's tables, the pairs' activations, and the second
  /// product's rows before they are summed to tokens.
  static Tensor triton_kernels(Runtime& runtime, const ExpertShape& s, const Tensor& x) {
    constexpr std::int64_t kTile = 16, kTileSizes = 4, kMemsetBlock = 512;
    const std::int64_t pairs = x.size(0) * s.top_k;
    const std::int64_t tiles =
        pairs <= s.experts ? pairs : s.experts - 1 + ceil_div(pairs + 1 - s.experts, kTile);
    const Tensor histogram = kernel_output("routing", {s.experts}, DType::int32);
    const Tensor indices = kernel_output("routing", {2 * pairs}, DType::int32);
    const Tensor weights = kernel_output("routing", {pairs}, x.dtype());
    const Tensor token_offsets = kernel_output(
        "routing", {kTileSizes + 1, round_up(s.experts + 1, kMemsetBlock)}, DType::int32);
    const Tensor block_map =
        kernel_output("routing", {kTileSizes, round_up(tiles, kMemsetBlock)}, DType::int32);
    Tensor output = kernel_output("empty_like", x.sizes(), x.dtype());
    const Tensor activated = kernel_output("empty", {pairs, s.intermediate}, x.dtype());
    const std::int64_t width = runtime.config.dimension("hidden_size");
    kernel_output("matmul_ogs", {pairs, width}, x.dtype());
    return output;
  }

  bool marlin_, has_bias_;
};

class PackedExperts final : public MoeMethod {
 public:
  explicit PackedExperts(const PackedScheme& scheme) : scheme_(scheme) {}

  void create_weights(Weights& w, const ExpertShape& s, DType dtype) const override {
    const std::int64_t e = s.local_experts, pack = scheme_.pack();
    const auto groups = [&](std::int64_t rows) {
      return scheme_.group < 0 ? 1 : rows / scheme_.group;
    };
    const std::int64_t g13 = groups(s.hidden), g2 = groups(s.intermediate);
    w.create("w13_qweight", {e, s.hidden / pack, s.up()}, DType::int32);
    w.create("w2_qweight", {e, s.intermediate / pack, s.hidden}, DType::int32);
    w.create("w13_scales", {e, g13, s.up()}, dtype);
    w.create("w2_scales", {e, g2, s.hidden}, dtype);
    if (scheme_.layout == PackedLayout::compressed) {  // symmetric, with the sizes as they were
      w.create("w13_weight_shape", {e, 2}, dtype);
      w.create("w2_weight_shape", {e, 2}, dtype);
      return;
    }
    w.create("w13_qzeros", {e, g13, s.up() / pack}, DType::int32);
    w.create("w2_qzeros", {e, g2, s.hidden / pack}, DType::int32);
    w.create("w13_bias", {e, s.up()}, dtype);
    w.create("w2_bias", {e, s.hidden}, dtype);
  }

  void process_weights(Weights& w, const ExpertShape& s, Runtime&) const override {
    w.drop("w13_bias");
    constexpr std::array kNames{"w13_qweight", "w2_qweight", "w13_scales",
                                "w2_scales",   "w13_qzeros", "w2_qzeros"};
    std::vector<Tensor> canonical;
    for (const char* name : kNames) canonical.push_back(w.get(name));
    // auto_gptq.py turns its layout to the canonical one before Marlin turns that again.
    if (scheme_.layout == PackedLayout::gptq) canonical = turned(canonical);
    const std::vector<Tensor> made = for_marlin(canonical, s.local_experts);
    canonical.clear();
    for (std::size_t i = 0; i < made.size(); ++i)
      if (made[i].defined()) w.replace(kNames[i], made[i]);
    w.drop("w2_bias");
  }

  Tensor apply(Runtime& runtime, const ExpertShape& s, const Tensor& x) const override {
    return marlin_experts(runtime, s, x);
  }

 private:
  static std::vector<Tensor> turned(const std::vector<Tensor>& tensors) {
    std::vector<Tensor> made;
    for (const Tensor& held : tensors)
      made.push_back(held.defined() ? kernel_output("contiguous", held.sizes(), held.dtype())
                                    : Tensor());
    return made;
  }
  /// _process_weights_marlin of oracle/int_wna16.py: weights, scales and zeros, each expert by
  /// expert into one tensor.
  static std::vector<Tensor> for_marlin(const std::vector<Tensor>& canonical,
                                        std::int64_t experts) {
    std::vector<Tensor> held = turned(canonical), made;
    for (std::size_t i = 0; i < held.size(); ++i) {
      if (!held[i].defined()) {
        made.push_back({});
        continue;
      }
      made.push_back(kernel_output("empty", held[i].sizes(), held[i].dtype()));
      const Dims each{held[i].numel() / experts};
      Tensor unpacked;
      for (std::int64_t e = 0; e < experts; ++e) {
        if (i < 2)
          kernel_output("gptq_marlin_repack", each, held[i].dtype());
        else if (i < 4)
          marlin_permute_scales(each, held[i].dtype(), true);
        else
          repack_zeros(each[0], unpacked);
      }
      if (i >= 4) held[i].reset();
    }
    return made;
  }
  /// moe_packed_to_marlin_zero_points, of one expert: unpacked, permuted, interleaved, packed.
  /// `unpacked` is the last expert's until this one's is there.
  static void repack_zeros(std::int64_t packed, Tensor& unpacked) {
    constexpr std::int64_t kPack = 8;
    const Dims values{packed * kPack};
    unpacked = kernel_output("unpack_cols", values, DType::int32);
    Tensor zeros = marlin_permute_scales(values, DType::int32, true);
    {
      const Tensor interleave = kernel_output("tensor", {kPack}, DType::int64);
      zeros = kernel_output("index", values, DType::int32);
    }
    kernel_output("pack_cols", {packed}, DType::int32);
  }

  PackedScheme scheme_;
};

/// fp8 experts with Triton's kernels.
class ScaledExperts final : public MoeMethod {
 public:
  explicit ScaledExperts(const ScaledScheme& scheme) : scheme_(scheme) {}

  void create_weights(Weights& w, const ExpertShape& s, DType dtype) const override {
    const std::int64_t e = s.local_experts;
    if (scheme_.online) return create_unquantized(w, s, dtype);
    w.create("w13_weight", {e, s.up(), s.hidden}, scheme_.weight);
    w.create("w2_weight", {e, s.hidden, s.intermediate}, scheme_.weight);
    w.create(scale_name(true), scales(e, s.up(), s.hidden, s.gated ? 2 : 1), DType::float32);
    w.create(scale_name(false), scales(e, s.hidden, s.intermediate, 1), DType::float32);
    if (!scheme_.static_activation) return;
    w.create("w13_input_scale", {e}, DType::float32);
    w.create("w2_input_scale", {e}, DType::float32);
  }

  void process_weights(Weights& w, const ExpertShape& s, Runtime& runtime) const override {
    if (scheme_.online) return quantize(w, s, runtime);
    if (uses_marlin(runtime)) return pack_for_marlin(w, s, runtime);
    if (is_block()) return;
    // One scale an expert: the larger of its two matrices'
    // (process_fp8_weight_tensor_strategy_moe).
    if (scheme_.scales == ScaleShape::tensor)
      w.replace("w13_weight_scale", kernel_output("max", {s.local_experts}, DType::float32));
    if (!scheme_.static_activation) return;
    w.replace("w13_input_scale", kernel_output("max", {}, DType::float32));
    w.replace("w2_input_scale", kernel_output("max", {}, DType::float32));
  }

  /// The checkpoint has each matrix of each expert in a tensor of its own.
  bool processes_while_loading(const Runtime& runtime, const ExpertShape& s) const override {
    if (!scheme_.online) return false;
    const Settings& settings = runtime.settings;
    const OnlineLoading loading = online_loading(settings);
    if (loading != OnlineLoading::beside) return loading == OnlineLoading::streamed;
    const Parallel& p = settings.parallel;
    const std::int64_t each = s.hidden * s.intermediate * (p.expert_parallel ? 1 : p.tp * p.dp);
    const std::int64_t matrices = s.gated ? 3 : 2;
    const std::vector<std::int64_t> loaded(static_cast<std::size_t>(s.experts * matrices), each);
    return is_seen_complete(settings, s.local_experts * matrices * s.hidden * s.intermediate,
                            loaded);
  }

  Tensor apply(Runtime& runtime, const ExpertShape& s, const Tensor& x) const override {
    if (uses_marlin(runtime)) return marlin_experts(runtime, s, x);
    const Tensor quantized = kernel_output("scaled_fp8_quant", x.sizes(), scheme_.weight);
    const Tensor scale = activation_scale(x.size(0), s.hidden);
    const DispatchedTokens dispatched(runtime, s, quantized);
    const std::int64_t tokens = dispatched.count, pairs = tokens * s.top_k;
    Tensor gathered_scale;
    if (scale.defined() && scale.numel() > 1 && tokens > x.size(0))
      gathered_scale = activation_scale(tokens, s.hidden);
    Tensor output = kernel_output("fused_experts", x.sizes(), x.dtype());
    runtime.workspace.reserve({bytes_of(x.dtype(), pairs * std::max(s.intermediate, s.hidden)),
                               bytes_of(x.dtype(), pairs * std::max(s.up(), s.hidden))});
    const AlignedExperts aligned(
        s, tokens, is_block() ? (tokens <= 64 ? 16 : 64) : default_block_m(s, tokens));
    const Tensor activated =
        kernel_output("scaled_fp8_quant", {pairs, s.intermediate}, scheme_.weight);
    const Tensor activated_scale = activation_scale(pairs, s.intermediate);
    return output;
  }

 private:
  static Dims w13_sizes(const ExpertShape& s) { return {s.local_experts, s.up(), s.hidden}; }
  static Dims w2_sizes(const ExpertShape& s) { return {s.local_experts, s.hidden, s.intermediate}; }

  /// Fp8OnlineMoEMethod: what is streamed has nothing on the device before it is loaded.
  static void create_unquantized(Weights& w, const ExpertShape& s, DType dtype) {
    if (online_loading(w.settings()) == OnlineLoading::streamed) return;
    w.create("w13_weight", w13_sizes(s), dtype);
    w.create("w2_weight", w2_sizes(s), dtype);
    w.create("w13_weight_scale", {s.local_experts}, DType::float32);
    w.create("w2_weight_scale", {s.local_experts}, DType::float32);
  }

  /// Both quantized tensors are made, and then filled expert by expert.
  void quantize(Weights& w, const ExpertShape& s, Runtime& runtime) const {
    const OnlineLoading loading = online_loading(runtime.settings);
    const bool is_streamed = loading == OnlineLoading::streamed;
    const auto unquantized = [&](const char* name, const Dims& sizes) {
      return is_streamed ? kernel_output("materialize_meta_tensor", sizes, runtime.dtype())
                         : w.get(name);
    };
    std::vector<Tensor> loaded{unquantized("w13_weight", w13_sizes(s)),
                               unquantized("w2_weight", w2_sizes(s))};
    {
      const Tensor w13 = kernel_output("empty_like", w13_sizes(s), scheme_.weight);
      const Tensor w2 = kernel_output("empty_like", w2_sizes(s), scheme_.weight);
      for (std::int64_t e = 0; e < s.local_experts; ++e) {
        kernel_output("scaled_fp8_quant", {s.up(), s.hidden}, scheme_.weight);
        kernel_output("scaled_fp8_quant", {s.hidden, s.intermediate}, scheme_.weight);
      }
      w.replace("w13_weight", w13);
      w.replace("w2_weight", w2);
    }
    for (const char* name : {"w13_weight_scale", "w2_weight_scale"})
      if (is_streamed) w.replace(name, kernel_output("div", {s.local_experts}, DType::float32));
    if (loading == OnlineLoading::beside && processes_while_loading(runtime, s))
      runtime.referred.insert(runtime.referred.end(), loaded.begin(), loaded.end());
    if (!is_streamed) loaded.clear();
    if (uses_marlin(runtime)) pack_for_marlin(w, s, runtime);
  }

  bool is_block() const { return scheme_.scales == ScaleShape::block; }
  /// Devices without fp8 units.
  bool uses_marlin(const Runtime& runtime) const {
    return scheme_.weight == DType::float8_e4m3fn && runtime.settings.device.capability() < 89;
  }
  const char* scale_name(bool first) const {
    if (is_block()) return first ? "w13_weight_scale_inv" : "w2_weight_scale_inv";
    return first ? "w13_weight_scale" : "w2_weight_scale";
  }

  /// marlin_utils_fp8.py, prepare_fp8_moe_layer_for_marlin: a scale for each column, and each row
  /// of blocks.
  void pack_for_marlin(Weights& w, const ExpertShape& s, Runtime& runtime) const {
    const std::int64_t e = s.local_experts;
    const auto repacked = [&](std::int64_t rows, std::int64_t columns) {
      std::vector<Tensor> made;
      for (std::int64_t i = 0; i < e; ++i) {
        const Tensor turned = kernel_output("contiguous", {columns / 4, rows}, DType::int32);
        made.push_back(kernel_output("gptq_marlin_repack", {columns / 4, rows}, DType::int32));
      }
      return kernel_output("cat", {e, columns / 4, rows}, DType::int32);
    };
    const auto permuted = [&](std::int64_t rows, std::int64_t columns) {
      const std::int64_t groups = is_block() ? ceil_div(columns, scheme_.block_columns) : 1;
      const Dims each{groups, rows}, all{e, groups, rows};
      const Tensor repeated = kernel_output("repeat_interleave", all, runtime.dtype());
      std::vector<Tensor> made;
      for (std::int64_t i = 0; i < e; ++i)
        made.push_back(marlin_permute_scales(each, runtime.dtype(), groups > 1));
      const Tensor joined = kernel_output("cat", all, runtime.dtype());
      const Tensor ones = kernel_output("ones_like", all, runtime.dtype());
      return kernel_output("mul", all, runtime.dtype());
    };
    const Tensor w13 = repacked(s.up(), s.hidden), w2 = repacked(s.hidden, s.intermediate);
    const Tensor s13 = permuted(s.up(), s.hidden), s2 = permuted(s.hidden, s.intermediate);
    w.replace("w13_weight", w13);
    w.replace("w2_weight", w2);
    w.replace(scale_name(true), s13);
    w.replace(scale_name(false), s2);
  }

  Dims scales(std::int64_t e, std::int64_t rows, std::int64_t columns, std::int64_t parts) const {
    switch (scheme_.scales) {
      case ScaleShape::tensor: return parts > 1 ? Dims{e, parts} : Dims{e};
      case ScaleShape::channel: return {e, rows, 1};
      case ScaleShape::block:
        return {e, parts * ceil_div(rows / parts, scheme_.block_rows),
                ceil_div(columns, scheme_.block_columns)};
    }
    return {};
  }
  /// Nothing is made where the checkpoint brings the scale.
  Tensor activation_scale(std::int64_t rows, std::int64_t columns) const {
    if (scheme_.static_activation) return {};
    if (is_block())
      return kernel_output("scale", {rows, ceil_div(columns, scheme_.block_columns)},
                           DType::float32);
    return kernel_output("scale", scheme_.scales == ScaleShape::tensor ? Dims{1} : Dims{rows, 1},
                         DType::float32);
  }

  ScaledScheme scheme_;
};

}  // namespace

Tensor repacked_experts(std::int64_t experts, Bytes each) {
  Tensor permuted = kernel_output("contiguous", {each}, DType::uint8);
  Tensor repacked = kernel_output("gptq_marlin_repack", {each}, DType::uint8);
  Tensor output = kernel_output("empty", {experts, each}, DType::uint8);
  for (std::int64_t e = 1; e < experts; ++e) {
    permuted = kernel_output("contiguous", {each}, DType::uint8);
    repacked = kernel_output("gptq_marlin_repack", {each}, DType::uint8);
  }
  return output;
}

Tensor marlin_experts(Runtime& runtime, const ExpertShape& s, const Tensor& x) {
  constexpr std::int64_t kBlocksPerSm = 4, kMostColumns = 256;
  const std::int64_t sms = runtime.settings.device.traits.sm_count;
  Tensor output = kernel_output("fused_experts", x.sizes(), x.dtype());
  const DispatchedTokens dispatched(runtime, s, x);
  const std::int64_t tokens = dispatched.count, pairs = tokens * s.top_k;
  runtime.workspace.reserve({bytes_of(x.dtype(), pairs * std::max(s.intermediate, s.hidden)),
                             bytes_of(x.dtype(), pairs * std::max(s.up(), s.hidden))});
  const std::int64_t block = marlin_block_m(s, tokens);
  const AlignedExperts aligned(s, tokens, block);
  runtime.use_own_stream();
  runtime.workspace.keep("marlin", sms * kBlocksPerSm * 4);
  for (const std::int64_t columns : {s.up(), s.hidden}) {
    // moe_wna16_marlin_gemm: c_tmp, no larger than the whole product.
    const std::int64_t whole = columns * aligned.sorted_ids.numel();
    scratch("moe_wna16_marlin_gemm",
            std::min(whole, sms * kBlocksPerSm * block * kMostColumns) * 4);
  }
  return output;
}

std::shared_ptr<const MoeMethod> packed_experts(const PackedScheme& scheme) {
  return std::make_shared<PackedExperts>(scheme);
}
std::shared_ptr<const MoeMethod> scaled_experts(const ScaledScheme& scheme) {
  return std::make_shared<ScaledExperts>(scheme);
}
std::shared_ptr<const MoeMethod> mxfp4_experts(const Settings& settings, bool has_bias) {
  // Triton's kernels have gpt-oss's activation alone (oracle/mxfp4.py, _get_priority_backends).
  return std::make_shared<Mxfp4Experts>(!has_bias || !settings.device.is(9, 0), has_bias);
}

}  // namespace memtape::vllm
