// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/arguments/quantization_config.h"

#include "model/config_fields.h"

namespace memtape::transformers {
namespace {

struct QuantizationFields : QuantizationRecipe {
  bool in_4bit = false;
};

constexpr auto kStorages = choices<DType>("unknown dtype", {{"uint8", DType::uint8},
                                                            {"bfloat16", DType::bfloat16},
                                                            {"float16", DType::float16},
                                                            {"float32", DType::float32},
                                                            {"torch.uint8", DType::uint8},
                                                            {"torch.bfloat16", DType::bfloat16},
                                                            {"torch.float16", DType::float16},
                                                            {"torch.float32", DType::float32}});

/// Both kinds of four bits take the same memory.
Result<void> check_quant_type(const Config& json, std::string_view name, QuantizationFields&) {
  const std::string type = json.text(name);
  if (type != "nf4" && type != "fp4") json.fail(name, "must be nf4 or fp4, found " + type);
  return {};
}

/// A configuration of another library has fields of its own, too.
Result<void> check_method(const Config& json) {
  const std::string method = json.text("quant_method", "bitsandbytes");
  if (method == "gptq" || method == "awq")
    json.fail("quant_method", method + " is what a checkpoint's own config.json says");
  else if (method != "bitsandbytes")
    json.fail("quant_method", method + " is not modelled, bitsandbytes is");
  return json.check();
}

/// transformers/utils/quantization_config.py, BitsAndBytesConfig.
constexpr auto kQuantizationFields = std::to_array<ConfigField<QuantizationFields>>({
    {"load_in_4bit", fields::put<&QuantizationFields::in_4bit>},
    {"bnb_4bit_quant_type", check_quant_type},
    {"bnb_4bit_use_double_quant", fields::put<&QuantizationFields::double_quant>},
    {"bnb_4bit_compute_dtype", fields::put<&QuantizationFields::compute_dtype>},
    {"bnb_4bit_quant_storage", fields::pick<&QuantizationFields::storage, kStorages>},
    {"llm_int8_skip_modules", fields::put<&QuantizationFields::skip_modules>},
    {"load_in_8bit", fields::put<&QuantizationFields::int8>},
    {"llm_int8_threshold", fields::put<&QuantizationFields::int8_threshold>},
    {"llm_int8_has_fp16_weight", fields::refuse},
    {"quant_method _load_in_4bit _load_in_8bit llm_int8_enable_fp32_cpu_offload"},
});

}  // namespace

Result<QuantizationRecipe> read_quantization_config(const std::string& text) {
  QuantizationFields said;
  const Result<Config> json = Config::parse(text, "--quantization");
  if (!json) return tl::unexpected(json.error());
  Result<void> fine = check_method(*json);
  if (fine) fine = read_fields(*json, "--quantization", kQuantizationFields, said);
  if (fine) fine = json->check();
  if (!fine) return tl::unexpected(fine.error());
  if (said.in_4bit == said.int8)
    return bad_input("one of load_in_4bit and load_in_8bit must be true", "--quantization",
                     "a BitsAndBytesConfig as JSON");
  return QuantizationRecipe(std::move(said));
}

}  // namespace memtape::transformers
