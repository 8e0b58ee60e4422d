// SPDX-License-Identifier: Apache-2.0
#include "workload/quantization_config.h"

#include <array>
#include <optional>
#include <string_view>

#include "base/json_reader.h"
#include "base/text.h"

namespace memtape {
namespace {

constexpr auto kQuantizationFields = std::to_array<std::string_view>(
    {"load_in_4bit", "bnb_4bit_quant_type", "bnb_4bit_use_double_quant", "bnb_4bit_compute_dtype",
     "bnb_4bit_quant_storage", "llm_int8_skip_modules", "load_in_8bit", "quant_method",
     "_load_in_4bit", "_load_in_8bit", "llm_int8_threshold", "llm_int8_enable_fp32_cpu_offload",
     "llm_int8_has_fp16_weight"});

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

void read_compute_dtype(JsonReader& json, QuantizationRecipe& recipe) {
  const std::optional<DType> dtype = dtype_named(json.text());
  if (dtype && *dtype != DType::uint8)
    recipe.compute_dtype = *dtype;
  else
    json.fail("bnb_4bit_compute_dtype: bfloat16, float16 or float32");
}

void read_storage(JsonReader& json, QuantizationRecipe& recipe) {
  const std::optional<DType> dtype = dtype_named(json.text());
  if (dtype)
    recipe.storage = *dtype;
  else
    json.fail("bnb_4bit_quant_storage: uint8, bfloat16, float16 or float32");
}

void read_skip_modules(JsonReader& json, QuantizationRecipe& recipe) {
  if (json.next() == JsonKind::null) return json.null();
  if (json.enter_array())
    while (json.item()) recipe.skip_modules.push_back(json.text());
}

void read_quant_type(JsonReader& json) {
  const std::string type = json.text();
  if (type != "nf4" && type != "fp4") json.fail("bnb_4bit_quant_type: nf4 or fp4");
}

struct Read {
  QuantizationRecipe recipe;
  bool in_4bit = false;
};

void read_field(const std::string& field, JsonReader& json, Read& read) {
  if (field == "load_in_4bit") {
    read.in_4bit = json.boolean();
  } else if (field == "load_in_8bit") {
    read.recipe.int8 = json.boolean();
  } else if (field == "llm_int8_threshold") {
    read.recipe.int8_threshold = json.number().real;
  } else if (field == "llm_int8_has_fp16_weight") {
    if (json.boolean()) json.fail("llm_int8_has_fp16_weight is not modelled");
  } else if (field == "quant_method") {
    if (const std::string method = json.text(); method == "gptq" || method == "awq")
      json.fail("quant_method: " + method + " is what a checkpoint's own config.json says");
    else if (method != "bitsandbytes")
      json.fail("quant_method: " + method + " is not modelled, bitsandbytes is");
  } else if (field == "bnb_4bit_quant_type") {
    read_quant_type(json);
  } else if (field == "bnb_4bit_use_double_quant") {
    read.recipe.double_quant = json.boolean();
  } else if (field == "bnb_4bit_compute_dtype") {
    read_compute_dtype(json, read.recipe);
  } else if (field == "bnb_4bit_quant_storage") {
    read_storage(json, read.recipe);
  } else if (field == "llm_int8_skip_modules") {
    read_skip_modules(json, read.recipe);
  } else {
    for (const std::string_view known : kQuantizationFields)
      if (known == field) return json.skip();
    json.fail("BitsAndBytesConfig has no " + field + " (" + suggestion(field, kQuantizationFields) +
              ")");
  }
}

}  // namespace

Result<void> set_quantization_config(const NamedValue& option, TrainRecipe& recipe) {
  Read read;
  JsonReader json(option.second);
  if (json.enter_object())
    while (const auto field = json.key()) read_field(*field, json, read);
  json.finish();
  if (json.failed())
    return bad_input(json.problem(), "--quantization", "a BitsAndBytesConfig as JSON");
  if (read.in_4bit == read.recipe.int8)
    return bad_input("one of load_in_4bit and load_in_8bit must be true", "--quantization",
                     "a BitsAndBytesConfig as JSON");
  recipe.quantization = std::move(read.recipe);
  return {};
}

}  // namespace memtape
