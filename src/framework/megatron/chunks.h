// SPDX-License-Identifier: Apache-2.0
// The chunks of the model that one rank holds (model_provider of the programs), and the buffers
// that DistributedDataParallel makes of their parameters.
#pragma once

#include <memory>
#include <vector>

#include "framework/megatron/language_model.h"
#include "framework/megatron/param_and_grad_buffer.h"

namespace memtape::megatron {

using Chunks = std::vector<std::unique_ptr<StageModel>>;

/// The chunks of pipeline rank `pp`.
Chunks make_chunks(Rank& rank, std::int64_t pp);

/// The buffers of all chunks, in their order.
std::vector<ParamAndGradBuffer> buffers_of(const Rank& rank, const Chunks& chunks);

}  // namespace memtape::megatron
