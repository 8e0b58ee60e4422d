// SPDX-License-Identifier: Apache-2.0
// transformers' BitsAndBytesConfig (5.17, utils/quantization_config.py) as JSON: the fields memory
// depends on become a QuantizationRecipe; one that is not modelled is an Error, one that is unknown
// names the nearest.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "workload/train_recipe.h"

namespace memtape::transformers {

/// `--quantization JSON`
Result<QuantizationRecipe> read_quantization_config(const std::string& text);

/// peft's guide to quantization ("QLoRA-style training"): nf4 twice quantized, products in bf16.
inline constexpr std::string_view kQloraQuantization =
    R"({"load_in_4bit": true, "bnb_4bit_quant_type": "nf4", "bnb_4bit_use_double_quant": true, )"
    R"("bnb_4bit_compute_dtype": "bfloat16"})";

}  // namespace memtape::transformers
