// SPDX-License-Identifier: Apache-2.0
// from_pretrained of a checkpoint that GPTQ or AWQ packed: gptqmodel's layers replace the linear
// layers; their words, scales and zeros are buffers (optimum 2.3, gptq/quantizer.py; transformers
// 5.17, integrations/awq.py).
#pragma once

#include "framework/transformers/packed_checkpoint.h"
#include "framework/transformers/quantized_model.h"

namespace memtape::transformers {

Result<QuantizedModel> load_packed(const Config& config, const TrainRecipe& recipe,
                                   const PackedCheckpoint& packed);

}  // namespace memtape::transformers
