// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/arguments/quantization_config.h"

#include <array>
#include <span>
#include <utility>

#include "option/json_fields.h"

namespace memtape::transformers {
namespace {

struct QuantizationFields : QuantizationRecipe {
  bool in_4bit = false;
};

/// A dtype by torch's name: one of the first `count` of these.
void read_dtype(JsonReader& json, std::size_t count, std::string_view problem, DType& into) {
  constexpr auto kNamed =
      std::to_array<std::pair<std::string_view, DType>>({{"bfloat16", DType::bfloat16},
                                                         {"float16", DType::float16},
                                                         {"float32", DType::float32},
                                                         {"uint8", DType::uint8}});
  const std::string text = json.text();
  const std::string_view name = std::string_view(text).substr(text.starts_with("torch.") ? 6 : 0);
  for (const auto& [known, dtype] : std::span(kNamed).first(count))
    if (name == known) return void(into = dtype);
  json.fail(problem);
}

void read_compute_dtype(JsonReader& json, QuantizationFields& fields) {
  read_dtype(json, 3, "bnb_4bit_compute_dtype: bfloat16, float16 or float32", fields.compute_dtype);
}

void read_storage(JsonReader& json, QuantizationFields& fields) {
  read_dtype(json, 4, "bnb_4bit_quant_storage: uint8, bfloat16, float16 or float32",
             fields.storage);
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
