// SPDX-License-Identifier: Apache-2.0
// transformers' BitsAndBytesConfig (5.17, utils/quantization_config.py) as JSON: the fields memory
// depends on become a QuantizationRecipe; one that is not modelled is an Error, one that is unknown
// names the nearest.
#pragma once

#include "base/result.h"
#include "workload/train_options.h"

namespace memtape {

/// `--quantization JSON`
Result<void> set_quantization_config(const NamedValue& option, TrainRecipe& recipe);

}  // namespace memtape
