// SPDX-License-Identifier: Apache-2.0
// ZeRO 0: every rank holds everything. In bfloat16 and float16 the basic optimizer steps over
// float32 copies, of which there is one for each parameter (fp16/unfused_optimizer.py) or, for
// FusedAdam, one flat copy (fp16/fused_optimizer.py). In float32 there is nothing between the
// engine and the basic optimizer.
#pragma once

#include <memory>
#include <vector>

#include "framework/deepspeed/ds_config.h"
#include "framework/deepspeed/engine_optimizer.h"

namespace memtape::deepspeed {

std::unique_ptr<EngineOptimizer> make_unpartitioned(std::vector<Tensor> parameters,
                                                    const DsConfig& config,
                                                    const TrainRecipe& recipe);

/// buffered_allreduce_fallback: joins gradients into buckets of half a billion elements and reduces
/// these.
void all_reduce_in_buckets(const std::vector<Tensor>& gradients, DType communication_dtype);

}  // namespace memtape::deepspeed
