// SPDX-License-Identifier: Apache-2.0
// Muon as Megatron runs it (megatron/core/optimizer/emerging_optimizers.py with NVIDIA's
// emerging_optimizers): matrices have a momentum and an orthogonalised update, while embeddings and
// vectors use Adam. In the layer-wise form, whole parameters are assigned to the data parallel
// ranks.
#pragma once

#include "framework/megatron/param_and_grad_buffer.h"

namespace memtape::megatron {

/// One parameter of one buffer.
struct Dealt {
  const ParamAndGradBuffer* buffer = nullptr;
  std::size_t index = 0;
};

/// _shard_params_ping_pong of layer_wise_optimizer.py: sorts the parameters by size and assigns
/// them to the ranks in turn, there and back; experts are assigned separately. It returns those of
/// this rank, in the order of `all`.
std::vector<Dealt> dealt_to(const std::vector<Dealt>& all, std::array<std::int64_t, 2> rank);

/// Orthogonalises a momentum of `sizes` by Newton-Schulz iterations in bfloat16.
void orthogonalize(const Dims& sizes, std::int64_t steps);

/// allgather_params: the parameters of each rank go as one flat tensor.
void gather_dealt(std::span<const ParamAndGradBuffer> buffers);

}  // namespace memtape::megatron
