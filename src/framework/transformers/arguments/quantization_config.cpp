// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/arguments/quantization_config.h"

#include <array>
#include <optional>

#include "option/json_fields.h"

namespace memtape::transformers {
namespace {

struct QuantizationFields : QuantizationRecipe {
  bool in_4bit = false;
};

/// A dtype by torch's name.
std::optional<DType> dtype_named(std::string_view name) {
  constexpr std::string_view kPrefix = "torch.";
  if (name.starts_with(kPrefix)) name.remove_prefix(kPrefix.size());
  if (name == "bfloat16") return DType::bfloat16;
  if (name == "float16") return DType::float16;
  if (name == "float32") return DType::float32;
  if (name == "uint8") return DType::uint8;
  return std::nullopt;
}

void read_compute_dtype(JsonReader& json, QuantizationFields& fields) {
  const std::optional<DType> dtype = dtype_named(json.text());
  if (dtype && *dtype != DType::uint8)
    fields.compute_dtype = *dtype;
  else
    json.fail("bnb_4bit_compute_dtype: bfloat16, float16 or float32");
}

void read_storage(JsonReader& json, QuantizationFields& fields) {
  const std::optional<DType> dtype = dtype_named(json.text());
  if (dtype)
    fields.storage = *dtype;
  else
    json.fail("bnb_4bit_quant_storage: uint8, bfloat16, float16 or float32");
}

void read_quant_type(JsonReader& json, QuantizationFields&) {
  const std::string type = json.text();
  if (type != "nf4" && type != "fp4") json.fail("bnb_4bit_quant_type: nf4 or fp4");
}

void read_method(JsonReader& json, QuantizationFields&) {
  if (const std::string method = json.text(); method == "gptq" || method == "awq")
    json.fail("quant_method: " + method + " is what a checkpoint's own config.json says");
  else if (method != "bitsandbytes")
    json.fail("quant_method: " + method + " is not modelled, bitsandbytes is");
}

void refuse_fp16_weight(JsonReader& json, QuantizationFields&) {
  if (json.boolean()) json.fail("llm_int8_has_fp16_weight is not modelled");
}

constexpr auto kQuantizationFields = std::to_array<option::JsonField<QuantizationFields>>({
    {"load_in_4bit", option::put_json<&QuantizationFields::in_4bit>},
    {"bnb_4bit_quant_type", read_quant_type},
    {"bnb_4bit_use_double_quant", option::put_json<&QuantizationFields::double_quant>},
    {"bnb_4bit_compute_dtype", read_compute_dtype},
    {"bnb_4bit_quant_storage", read_storage},
    {"llm_int8_skip_modules", option::put_json<&QuantizationFields::skip_modules>},
    {"load_in_8bit", option::put_json<&QuantizationFields::int8>},
    {"quant_method", read_method},
    {"llm_int8_threshold", option::put_json<&QuantizationFields::int8_threshold>},
    {"llm_int8_has_fp16_weight", refuse_fp16_weight},
});

}  // namespace

Result<QuantizationRecipe> read_quantization_config(const std::string& text) {
  QuantizationFields fields;
  const option::JsonSource source{"--quantization", "BitsAndBytesConfig",
                                  "a BitsAndBytesConfig as JSON",
                                  "_load_in_4bit _load_in_8bit llm_int8_enable_fp32_cpu_offload"};
  if (const auto read = option::read_json_fields(text, source, kQuantizationFields, fields); !read)
    return tl::unexpected(read.error());
  if (fields.in_4bit == fields.int8)
    return bad_input("one of load_in_4bit and load_in_8bit must be true", "--quantization",
                     "a BitsAndBytesConfig as JSON");
  return QuantizationRecipe(std::move(fields));
}

}  // namespace memtape::transformers
