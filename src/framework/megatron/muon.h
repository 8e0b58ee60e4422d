// SPDX-License-Identifier: Apache-2.0
// Muon as Megatron runs it (megatron/core/optimizer/emerging_optimizers.py over NVIDIA's
// emerging_optimizers): matrices have a momentum and an orthogonalised update, embeddings and
// vectors go to Adam. Layer-wise, whole parameters are dealt out to the data parallel ranks.
#pragma once

#include "framework/megatron/param_and_grad_buffer.h"

namespace memtape::megatron {

/// One parameter of one buffer.
struct Dealt {
  const ParamAndGradBuffer* buffer = nullptr;
  std::size_t index = 0;
};

/// _shard_params_ping_pong of layer_wise_optimizer.py: sorted by size and dealt to the ranks there
/// and back, experts by themselves. Those of this rank, in the order of `all`.
std::vector<Dealt> dealt_to(const std::vector<Dealt>& all, std::array<std::int64_t, 2> rank);

/// The momentum of `sizes` orthogonalised by Newton-Schulz iterations in bf16.
void orthogonalize(const Dims& sizes, std::int64_t steps);

/// allgather_params: each rank's parameters as one flat tensor.
void gather_dealt(std::span<const ParamAndGradBuffer> buffers);

}  // namespace memtape::megatron
