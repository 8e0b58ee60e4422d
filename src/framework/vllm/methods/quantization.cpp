// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/methods/quantization.h"

#include <algorithm>

#include "base/text.h"
#include "framework/vllm/methods/bitsandbytes.h"
#include "framework/vllm/methods/moe_methods.h"
#include "framework/vllm/methods/scaled.h"
#include "framework/vllm/methods/weight_only.h"

namespace memtape::vllm {
namespace {

/// Which layers a checkpoint leaves as they are. An entry names a layer, or the start or the end of
/// its path; "re:" entries are taken by their literal part.
class Skipped {
 public:
  explicit Skipped(std::vector<std::string> names) : names_(std::move(names)) {}

  bool has(const std::string& prefix) const {
    return std::ranges::any_of(names_,
                               [&](const std::string& name) { return names(name, prefix); });
  }

 private:
  static bool names(std::string name, const std::string& prefix) {
    if (name.starts_with("re:")) {
      name = name.substr(3);
      for (const std::string_view noise : {".*", "$", "^", "\\"})
        while (name.find(noise) != std::string::npos) name.erase(name.find(noise), noise.size());
      return !name.empty() && prefix.find(name) != std::string::npos;
    }
    return prefix == name || prefix.ends_with("." + name) || is_fused(name, prefix);
  }
  /// A fused layer is left alone when its parts are.
  static bool is_fused(const std::string& name, const std::string& prefix) {
    const auto part = [&](std::string_view fused, std::string_view original) {
      if (!prefix.ends_with(fused)) return false;
      const std::string path =
          prefix.substr(0, prefix.size() - fused.size()) + std::string(original);
      return path == name;
    };
    return part("qkv_proj", "q_proj") || part("gate_up_proj", "gate_proj") ||
           part("fused_qkv_a_proj", "q_a_proj");
  }
  std::vector<std::string> names_;
};

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

Made bitsandbytes(const Config& c) {
  if (!c.boolean("load_in_4bit", false))
    return unsupported("only its 4 bits are modelled for vLLM",
                       c.where() + ": quantization_config.load_in_4bit", "true");
  auto made = std::make_unique<Scheme>("bitsandbytes", Skipped(c.texts("llm_int8_skip_modules")));
  made->linear_ = std::make_shared<BitsAndBytesLinear>();
  return made;
}

Made fp8(const Config& c) {
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
  if (bits != 8)
    return unsupported("this compressed-tensors scheme is not modelled for vLLM",
                       c.where() + ": quantization_config");
  ScaledScheme scheme;
  scheme.weight = type == "int" ? DType::int8 : DType::float8_e4m3fn;
  scheme.scales = strategy == "block"    ? ScaleShape::block
                  : strategy == "tensor" ? ScaleShape::tensor
                                         : ScaleShape::channel;
  scheme.static_activation = !group.object("input_activations").boolean("dynamic", true);
  made->linear_ = std::make_shared<ScaledLinear>(scheme);
  made->experts_ = scaled_experts(scheme);
  return made;
}

}  // namespace

Result<std::unique_ptr<Quantization>> read_quantization(const Config& config,
                                                        const Settings& settings) {
  if (config.is_null("quantization_config")) {
    if (!settings.quantize_online) return nullptr;
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
  if (method == "fp8") return fp8(c);
  if (method == "compressed-tensors") return compressed(c);
  if (method == "mxfp4") {
    auto made = std::make_unique<Scheme>("mxfp4", Skipped({}));
    made->experts_ = mxfp4_experts(settings);
    return made;
  }
  if (method == "bitsandbytes") return bitsandbytes(c);
  return unsupported("quantization " + method + " is not modelled for vLLM", config.where(),
                     "awq, gptq, fp8, compressed-tensors, bitsandbytes or mxfp4");
}

}  // namespace memtape::vllm
