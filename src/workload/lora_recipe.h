// SPDX-License-Identifier: Apache-2.0
// LoraRecipe: which adapters a model is trained by (peft, tuners/lora/config.py). QuantizationRecipe:
// how bitsandbytes packs the weights beneath them (transformers 5.17, utils/quantization_config.py).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/dtype.h"

namespace memtape {

/// peft's LoraConfig, as far as memory goes. Targets are module names, or "all-linear" alone.
struct LoraRecipe {
  std::int64_t rank = 8;
  std::vector<std::string> targets;
  std::string target_pattern;  ///< a regular expression over whole names, in place of targets
  double dropout = 0.0;
  bool scales = true;  ///< lora_alpha over r, or its root, is not 1
  /// Of `bias`: which biases of the model are trained beside the adapters.
  enum class Biases : std::uint8_t { none, all, lora_only };
  Biases trained_biases = Biases::none;
  bool use_dora = false;
  bool lora_bias = false;                    ///< lora_B has a bias
  bool dropout_switched_off = false;         ///< the module stays, at a rate of 0
  std::vector<std::string> modules_to_save;  ///< trained whole, as copies
  std::vector<std::string> task_heads;       ///< of task_type: the same, where the model has them
  bool spares_task_heads = false;            ///< all-linear leaves them out (SEQ_CLS)
  std::vector<std::string> exclude_modules;  ///< names that are no targets after all
  std::vector<std::int64_t> layers_to_transform;
  std::vector<std::pair<std::string, std::int64_t>> rank_pattern;  ///< ranks of their own
};

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
