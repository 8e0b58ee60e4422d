// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/methods/quantization.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "framework/vllm/methods/bitsandbytes.h"
#include "framework/vllm/methods/mixed_precision.h"
#include "framework/vllm/methods/moe_methods.h"
#include "framework/vllm/methods/nvfp4.h"
#include "framework/vllm/methods/scaled.h"
#include "framework/vllm/methods/skipped_layers.h"
#include "framework/vllm/methods/weight_only.h"

namespace memtape::vllm {
namespace {

class Scheme final : public Quantization {
 public:
  Scheme(std::string_view called, Skipped skipped) : name_(called), skipped_(std::move(skipped)) {}

  std::string_view name() const override { return name_; }
  std::shared_ptr<const LinearMethod> linear(const Place& place) const override {
    return skipped_.has(place.prefix()) ? nullptr : linear_;
  }
  std::shared_ptr<const MoeMethod> experts(const Place& place) const override {
    return skipped_.has(place.prefix()) ? nullptr : experts_;
  }
  bool has_kv_scales() const override { return kv_scales_; }

  std::shared_ptr<const LinearMethod> linear_;
  std::shared_ptr<const MoeMethod> experts_;
  bool kv_scales_ = false;

 private:
  std::string_view name_;
  Skipped skipped_;
};

using Made = Result<std::unique_ptr<Quantization>>;

Made packed(const Config& c, PackedLayout layout) {
  PackedScheme scheme;
  scheme.layout = layout;
  scheme.bits = c.integer({"bits", "w_bit"}, 4);
  scheme.group = c.integer({"group_size", "q_group_size"}, 128);
  scheme.zero_points = layout == PackedLayout::awq && c.boolean("zero_point", true);
  if (scheme.bits != 4 && scheme.bits != 8)
    return unsupported("only 4 and 8 bits have a kernel", c.where() + ": quantization_config.bits");
  auto made = std::make_unique<Scheme>(layout == PackedLayout::awq ? "awq" : "gptq",
                                       Skipped(c.texts("modules_to_not_convert")));
  made->linear_ = std::make_shared<WeightOnlyLinear>(scheme);
  made->experts_ = packed_experts(scheme);
  return made;
}

std::unique_ptr<Quantization> bitsandbytes_in_flight() {
  auto made = std::make_unique<Scheme>("bitsandbytes", Skipped({}));
  made->linear_ = std::make_shared<BitsAndBytesLinear>(BitsAndBytesLinear::Checkpoint::plain);
  return made;
}

Made bitsandbytes(const Config& c, const Settings& settings) {
  if (!settings.sglang_layers && settings.release.has(changes::kVllmHasNoBitsAndBytes))
    return unsupported(fmt::format("vLLM has no bitsandbytes since {}",
                                   changes::kVllmHasNoBitsAndBytes.since.text()),
                       c.where() + ": quantization_config.quant_method", "--engine-version 0.27.1");
  if (!c.boolean("load_in_4bit", false))
    return unsupported("only its 4 bits are modelled for vLLM",
                       c.where() + ": quantization_config.load_in_4bit", "true");
  auto made = std::make_unique<Scheme>("bitsandbytes", Skipped(c.texts("llm_int8_skip_modules")));
  made->linear_ = std::make_shared<BitsAndBytesLinear>(BitsAndBytesLinear::Checkpoint::packed);
  return made;
}

/// `c` is the quantization_config of `model`. DeepseekV4FP8Config: experts may be in MXFP4
/// or NVFP4.
Made fp8(const Config& c, const Config& model, const Settings& settings) {
  ScaledScheme scheme;
  const std::vector<std::int64_t> block = c.integers("weight_block_size");
  scheme.scales = block.size() == 2 ? ScaleShape::block : ScaleShape::tensor;
  if (block.size() == 2) {
    scheme.block_rows = std::max<std::int64_t>(1, block[0]);
    scheme.block_columns = std::max<std::int64_t>(1, block[1]);
  }
  scheme.static_activation = c.text("activation_scheme", "dynamic") == "static";
  std::vector<std::string> skipped = c.texts("ignored_layers");
  if (skipped.empty()) skipped = c.texts("modules_to_not_convert");
  auto made = std::make_unique<Scheme>("fp8", Skipped(std::move(skipped)));
  made->linear_ = std::make_shared<ScaledLinear>(scheme);
  const bool fp4 = model.text("expert_dtype", "fp8") == "fp4";
  made->experts_ = !fp4                                      ? scaled_experts(scheme)
                   : c.text("moe_quant_algo", "") == "NVFP4" ? nvfp4_experts({})
                                                             : mxfp4_experts(settings, false);
  made->kv_scales_ = true;
  return made;
}

/// fbgemm_fp8.py: a scale for each row of the weights, activations quantized as they come.
Made fbgemm(const Config& c) {
  const ScaledScheme scheme{.scales = ScaleShape::channel};
  auto made = std::make_unique<Scheme>("fbgemm_fp8", Skipped(c.texts("modules_to_not_convert")));
  made->linear_ = std::make_shared<ScaledLinear>(scheme);
  return made;
}

Made nvfp4(std::string_view name, Skipped skipped, bool quantizes_input) {
  const NvFp4Scheme scheme{.quantizes_input = quantizes_input};
  auto made = std::make_unique<Scheme>(name, std::move(skipped));
  made->linear_ = std::make_shared<NvFp4Linear>(scheme);
  made->experts_ = nvfp4_experts(scheme);
  made->kv_scales_ = true;
  return made;
}

/// modelopt.py: the keys lie in the object itself, or in its "quantization".
Made modelopt(const Config& c, const Settings& settings) {
  const Config q = c.has("quantization") ? c.object("quantization") : c;
  const std::string algorithm = q.text("quant_algo", "");
  std::vector<std::string> names = q.texts("exclude_modules");
  if (names.empty()) names = q.texts("ignore");
  Skipped skipped(std::move(names));
  if (algorithm == "NVFP4" || algorithm == "W4A16_NVFP4")
    return nvfp4("modelopt_fp4", std::move(skipped), algorithm == "NVFP4");
  if (algorithm == "MIXED_PRECISION") return mixed_precision(q, std::move(skipped), settings);
  if (algorithm != "FP8")
    return unsupported("quant_algo " + algorithm + " is not modelled for vLLM",
                       c.where() + ": quantization_config", "FP8, NVFP4 or MIXED_PRECISION");
  const ScaledScheme scheme{
      .scales = ScaleShape::tensor, .static_activation = true, .takes_quantized_input = true};
  auto made = std::make_unique<Scheme>("modelopt", std::move(skipped));
  made->linear_ = std::make_shared<ScaledLinear>(scheme);
  made->experts_ = scaled_experts(scheme);
  made->kv_scales_ = true;
  return made;
}

/// The one group of a compressed-tensors checkpoint.
Made compressed(const Config& c) {
  const Config groups = c.object("config_groups");
  const std::vector<std::string> names = groups.keys();
  if (names.empty()) return bad_input("has no config_groups", c.where() + ": quantization_config");
  const Config group = groups.object(names.front());
  const Config weights = group.object("weights");
  const std::int64_t bits = weights.integer("num_bits", 8);
  const std::string type = weights.text("type", "int");
  const std::string strategy = weights.text("strategy", "channel");
  auto made = std::make_unique<Scheme>("compressed-tensors", Skipped(c.texts("ignore")));
  made->kv_scales_ = true;
  if (group.is_null("input_activations") && type == "int") {
    PackedScheme scheme;
    scheme.layout = PackedLayout::compressed;
    scheme.bits = bits;
    scheme.group = weights.optional_integer("group_size").value_or(-1);
    scheme.zero_points = !weights.boolean("symmetric", true);
    made->linear_ = std::make_shared<WeightOnlyLinear>(scheme);
    made->experts_ = packed_experts(scheme);
    return made;
  }
  if (bits == 4 && type == "float")
    return nvfp4("compressed-tensors", Skipped(c.texts("ignore")),
                 !group.is_null("input_activations"));
  if (bits != 8)
    return unsupported("this compressed-tensors scheme is not modelled for vLLM",
                       c.where() + ": quantization_config");
  ScaledScheme scheme;
  scheme.weight = type == "int" ? DType::int8 : DType::float8_e4m3fn;
  scheme.scales = strategy == "block"    ? ScaleShape::block
                  : strategy == "tensor" ? ScaleShape::tensor
                                         : ScaleShape::channel;
  scheme.static_activation = !group.object("input_activations").boolean("dynamic", true);
  scheme.takes_quantized_input = scheme.static_activation;
  made->linear_ = std::make_shared<ScaledLinear>(scheme);
  made->experts_ = scaled_experts(scheme);
  return made;
}

}  // namespace

Result<std::unique_ptr<Quantization>> read_quantization(const Config& config,
                                                        const Settings& settings) {
  if (config.is_null("quantization_config")) {
    if (settings.online == OnlineScheme::none) return nullptr;
    if (settings.online == OnlineScheme::bitsandbytes) return bitsandbytes_in_flight();
    auto made = std::make_unique<Scheme>("fp8", Skipped({}));
    const ScaledScheme scheme{.scales = ScaleShape::tensor, .online = true};
    made->linear_ = std::make_shared<ScaledLinear>(scheme);
    made->experts_ = scaled_experts(scheme);
    return made;
  }
  const Config c = config.object("quantization_config");
  const std::string method = c.text("quant_method", "");
  if (method == "awq") return packed(c, PackedLayout::awq);
  if (method == "gptq") return packed(c, PackedLayout::gptq);
  if (method == "auto-round" || method == "intel/auto-round") {
    const bool awq = c.text("packing_format", "auto_round:auto_gptq").ends_with("awq");
    return packed(c, awq ? PackedLayout::awq : PackedLayout::gptq);
  }
  if (method == "fp8") return fp8(c, config, settings);
  if (method == "fbgemm_fp8") return fbgemm(c);
  if (method == "compressed-tensors") return compressed(c);
  if (method == "mxfp4") {
    auto made = std::make_unique<Scheme>("mxfp4", Skipped({}));
    made->experts_ = mxfp4_experts(settings, true);
    return made;
  }
  if (method.starts_with("modelopt")) return modelopt(c, settings);
  if (method == "bitsandbytes") return bitsandbytes(c, settings);
  return unsupported("quantization " + method + " is not modelled for vLLM", config.where(),
                     "awq, gptq, auto-round, fp8, fbgemm_fp8, compressed-tensors, modelopt, "
                     "bitsandbytes or mxfp4");
}

}  // namespace memtape::vllm
