// SPDX-License-Identifier: Apache-2.0
// QuantizationRecipe: how bitsandbytes packs the weights beneath adapters (transformers 5.17,
// utils/quantization_config.py).
#pragma once

#include <string>
#include <vector>

#include "base/dtype.h"

namespace memtape {

/// transformers' BitsAndBytesConfig, as far as memory goes.
struct QuantizationRecipe {
  bool int8 = false;  ///< load_in_8bit, in place of load_in_4bit
  double int8_threshold = 6.0;
  bool double_quant = false;
  DType compute_dtype = DType::float32;
  DType storage = DType::uint8;           ///< bnb_4bit_quant_storage
  std::vector<std::string> skip_modules;  ///< none: the output head alone
};

}  // namespace memtape
