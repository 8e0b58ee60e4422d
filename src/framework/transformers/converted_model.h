// SPDX-License-Identifier: Apache-2.0
// from_pretrained of a checkpoint whose weights stay as they are stored: float8 linear layers and
// experts with a scale for each block (transformers 5.17, integrations/finegrained_fp8.py), and
// experts of MXFP4, a byte for two numbers and one for the scale of 32 (integrations/mxfp4.py).
// A model's experts keep their two parameters, whose dtype and sizes become those of what is
// stored; family::Experts multiplies by them as they are.
#pragma once

#include "framework/transformers/quantized_model.h"
#include "framework/transformers/stored_weights.h"

namespace memtape::transformers {

Result<QuantizedModel> load_converted(const Config& config, const TrainRecipe& recipe,
                                      const StoredWeights& stored);

}  // namespace memtape::transformers
