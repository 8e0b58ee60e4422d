// SPDX-License-Identifier: Apache-2.0
// The model of an inference program: from_pretrained of a checkpoint, quantized or not, without a
// gradient to come.
#pragma once

#include "family/task.h"
#include "framework/transformers/generate.h"
#include "framework/transformers/quantized_model.h"

namespace memtape::transformers {

Result<QuantizedModel> load_for_inference(const Config& config, const GenerateRecipe& recipe,
                                          family::Task task);

/// What the weights take, with the buffers that packed layers have in their place.
void count_weights(GenerateRun& run, const QuantizedModel& loaded);

}  // namespace memtape::transformers
