// SPDX-License-Identifier: Apache-2.0
// LoraRecipe: with which adapters a model is trained (peft, tuners/lora/config.py).
// QuantizationRecipe: how bitsandbytes packs the weights beneath them (transformers 5.17,
// utils/quantization_config.py).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/dtype.h"

namespace memtape {

/// peft's LoraConfig, as far as it affects memory. The targets are names of modules, or only
/// "all-linear".
struct LoraRecipe {
  std::int64_t rank = 8;
  std::vector<std::string> targets;
  std::string target_pattern;  ///< a regular expression for whole names, which replaces targets
  bool lists_linear = false;   ///< all-linear, by names that the program has found itself
  double dropout = 0.0;
  bool scales = true;  ///< the scale, lora_alpha over r or over its root, is not 1
  /// The value of `bias`: which biases of the model are trained in addition to the adapters.
  enum class Biases : std::uint8_t { none, all, lora_only };
  Biases trained_biases = Biases::none;
  bool use_dora = false;
  bool lora_bias = false;                    ///< lora_B has a bias
  bool dropout_switched_off = false;         ///< the module exists, with a rate of 0
  std::vector<std::string> modules_to_save;  ///< trained as whole copies
  /// The heads of task_type, which are trained in the same way if the model has them.
  std::vector<std::string> task_heads;
  bool spares_task_heads = false;              ///< all-linear does not include them (SEQ_CLS)
  std::vector<std::string> exclude_modules;    ///< names that are not targets even if they match
  std::vector<std::string> target_parameters;  ///< ends of parameters' names, of experts mostly
  std::vector<std::int64_t> layers_to_transform;
  std::vector<std::pair<std::string, std::int64_t>> rank_pattern;  ///< names with their own ranks
};

/// transformers' BitsAndBytesConfig, as far as it affects memory.
struct QuantizationRecipe {
  bool int8 = false;  ///< load_in_8bit; false: load_in_4bit
  double int8_threshold = 6.0;
  bool double_quant = false;
  DType compute_dtype = DType::float32;
  DType storage = DType::uint8;           ///< bnb_4bit_quant_storage
  std::vector<std::string> skip_modules;  ///< empty: only the output head
};

}  // namespace memtape
