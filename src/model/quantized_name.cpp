// SPDX-License-Identifier: Apache-2.0
#include "model/quantized_name.h"

#include <array>

#include <fmt/format.h>

#include "base/letter_case.h"
#include "model/config.h"

namespace memtape {
namespace {

struct Ending {
  std::string_view text;  ///< in lower case
  std::string_view scheme;
  std::string_view config;   ///< its quantization_config, without a list of what it leaves
  std::string_view leaving;  ///< the key of that list
};

// What is left in 16 bits everywhere: the head, routers, and the towers of models with images.
constexpr std::string_view kLeft =
    R"(["lm_head", "mlp.gate", "mlp.shared_expert_gate", "visual", "visual.*", )"
    R"("model.visual.*", "vision_tower", "*vision_tower.*", "*vision_model.*", )"
    R"("multi_modal_projector", "*multi_modal_projector.*"])";

// AutoAWQ 0.2 (the quant_config of its examples) and the checkpoints of Qwen and hugging-quants.
constexpr Ending kAwq{"-awq", "AWQ, 4 bits in groups of 128",
                      R"({"quant_method": "awq", "bits": 4, "group_size": 128, )"
                      R"("version": "gemm", "zero_point": true})",
                      "modules_to_not_convert"};
// GPTQModel 4 and AutoGPTQ 0.7 (QuantizeConfig), and the checkpoints of Qwen.
constexpr Ending kGptq{"-gptq", "GPTQ, 4 bits in groups of 128",
                       R"({"quant_method": "gptq", "bits": 4, "group_size": 128, )"
                       R"("desc_act": false, "sym": true})",
                       "modules_to_not_convert"};
constexpr Ending kGptqInt8{"-gptq-int8", "GPTQ, 8 bits in groups of 128",
                           R"({"quant_method": "gptq", "bits": 8, "group_size": 128, )"
                           R"("desc_act": false, "sym": true})",
                           "modules_to_not_convert"};
// The checkpoints of Qwen, Z.ai and MiniMax, which have DeepSeek-V3's scheme.
constexpr Ending kFp8{"-fp8", "fp8 in blocks of 128 by 128",
                      R"({"quant_method": "fp8", "activation_scheme": "dynamic", )"
                      R"("fmt": "e4m3", "weight_block_size": [128, 128]})",
                      "modules_to_not_convert"};
// llm-compressor 0.8 (examples/quantization_w8a8_fp8, quantization_w8a8_int8, quantization_w4a16).
constexpr Ending kFp8Dynamic{
    "-fp8-dynamic", "fp8 with a scale for each channel",
    R"({"quant_method": "compressed-tensors", "config_groups": {"group_0": {"weights": )"
    R"({"num_bits": 8, "type": "float", "strategy": "channel"}, "input_activations": )"
    R"({"num_bits": 8, "type": "float", "strategy": "token", "dynamic": true}}}})",
    "ignore"};
constexpr Ending kInt8{
    "-quantized.w8a8", "int8 with a scale for each channel",
    R"({"quant_method": "compressed-tensors", "config_groups": {"group_0": {"weights": )"
    R"({"num_bits": 8, "type": "int", "strategy": "channel"}, "input_activations": )"
    R"({"num_bits": 8, "type": "int", "strategy": "token", "dynamic": true}}}})",
    "ignore"};
constexpr Ending kInt4Weights{
    "-quantized.w4a16", "4-bit weights in groups of 128",
    R"({"quant_method": "compressed-tensors", "config_groups": {"group_0": {"weights": )"
    R"({"num_bits": 4, "type": "int", "strategy": "group", "group_size": 128}}}})",
    "ignore"};
constexpr Ending kInt8Weights{
    "-quantized.w8a16", "8-bit weights with a scale for each channel",
    R"({"quant_method": "compressed-tensors", "config_groups": {"group_0": {"weights": )"
    R"({"num_bits": 8, "type": "int", "strategy": "channel"}}}})",
    "ignore"};
// ModelOpt 0.33 (examples/llm_ptq) and the checkpoints of NVIDIA.
constexpr Ending kNvFp4{"-nvfp4", "NVFP4", R"({"quant_method": "modelopt", "quant_algo": "NVFP4"})",
                        "ignore"};
// The checkpoints of Unsloth.
constexpr Ending kBits{"-bnb-4bit", "bitsandbytes' nf4",
                       R"({"quant_method": "bitsandbytes", "load_in_4bit": true, )"
                       R"("bnb_4bit_quant_type": "nf4", "bnb_4bit_use_double_quant": true, )"
                       R"("bnb_4bit_compute_dtype": "bfloat16"})",
                       "llm_int8_skip_modules"};

constexpr Ending spelled(std::string_view text, Ending ending) {
  ending.text = text;
  return ending;
}

/// Of two that a name ends in, the longer one comes first.
constexpr std::array kEndings{
    spelled("-awq-int4", kAwq),
    spelled("-awq-4bit", kAwq),
    kAwq,
    kGptqInt8,
    spelled("-gptq-int4", kGptq),
    spelled("-gptq-4bit", kGptq),
    kGptq,
    spelled("-int4-autoround", kGptq),
    spelled("-autoround", kGptq),
    kFp8Dynamic,
    spelled("-fp8-block", kFp8),
    kFp8,
    kInt8,
    spelled("-w8a8", kInt8),
    spelled(".w8a8", kInt8),
    kInt4Weights,
    spelled("-w4a16", kInt4Weights),
    spelled(".w4a16", kInt4Weights),
    spelled("-int4", kInt4Weights),
    kInt8Weights,
    kNvFp4,
    spelled("-fp4", kNvFp4),
    spelled("-unsloth-bnb-4bit", kBits),
    kBits,
};

// Its -FP8 is fbgemm's (Llama-3.1-405B), which leaves attention and some layers in 16 bits.
constexpr std::string_view kOwnScheme = "meta-llama/";

/// The owner of a copy is another than the model's as a rule; some leave words of its name out.
const CatalogEntry* find_base(std::string_view name) {
  if (const CatalogEntry* entry = find_model(name)) return entry;
  const std::string part(last_part(name));
  for (const std::string& spelling : {part, "Meta-" + part, part + "-hf"})
    if (const CatalogEntry* entry = find_model(spelling)) return entry;
  return nullptr;
}

bool is_quantized(const CatalogEntry& entry) {
  const Result<Config> config = Config::parse(entry.config, std::string(entry.id));
  return !config || !config->is_null("quantization_config");
}

std::string with_what_is_left(const Ending& ending) {
  const std::string_view members = ending.config.substr(0, ending.config.size() - 1);
  return fmt::format(R"({{"quantization_config": {}, "{}": {}}}}})", members, ending.leaving,
                     kLeft);
}

}  // namespace

std::optional<QuantizedName> quantized_name(std::string_view name) {
  const std::string lower = lower_case(std::string(name));
  if (lower.starts_with(kOwnScheme)) return std::nullopt;
  for (const Ending& ending : kEndings) {
    if (!lower.ends_with(ending.text)) continue;
    const CatalogEntry* base = find_base(name.substr(0, name.size() - ending.text.size()));
    if (!base || is_quantized(*base)) return std::nullopt;
    return QuantizedName{base, std::string(name.substr(name.size() - ending.text.size())),
                         ending.scheme, with_what_is_left(ending)};
  }
  return std::nullopt;
}

std::string known_name(std::string_view name) {
  if (const std::string_view id = find_id(name); !id.empty()) return std::string(id);
  const std::optional<QuantizedName> copy = quantized_name(name);
  return copy ? std::string(copy->base->id) + copy->ending : "";
}

}  // namespace memtape
