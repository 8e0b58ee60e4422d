// SPDX-License-Identifier: Apache-2.0
// Reads transformers' BitsAndBytesConfig (5.17, utils/quantization_config.py) as JSON: the fields
// that affect memory become a QuantizationRecipe. A field that is not modelled is an Error; for an
// unknown field, the Error names the nearest one.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "workload/train_recipe.h"

namespace memtape::transformers {

/// `--quantization JSON`
Result<QuantizationRecipe> read_quantization_config(const std::string& text);

/// From peft's guide to quantization ("QLoRA-style training"): nf4 with double quantization, and
/// products in bfloat16.
inline constexpr std::string_view kQloraQuantization =
    R"({"load_in_4bit": true, "bnb_4bit_quant_type": "nf4", "bnb_4bit_use_double_quant": true, )"
    R"("bnb_4bit_compute_dtype": "bfloat16"})";

}  // namespace memtape::transformers
