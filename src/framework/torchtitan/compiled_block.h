// SPDX-License-Identifier: Apache-2.0
// The graph that torch.compile makes of one TransformerBlock. Its products, attention and
// collectives are kernels, and everything between them is fused. Products of complex numbers are
// separate kernels: inductor generates no code for them and calls aten.
#pragma once

#include <memory>
#include <vector>

#include "framework/torch/inductor/graph.h"
#include "framework/torchtitan/model.h"

namespace memtape::torchtitan {

/// What decides the sizes in the graph of a block.
struct BlockShape {
  /// The sizes of the hidden states that a block is given, which are divided along the sequence
  /// under tensor parallelism.
  std::int64_t batch = 1, tokens = 1;
  std::int64_t tp = 1;
  DType dtype = DType::bfloat16;
};

std::shared_ptr<const torch::inductor::Graph> block_graph(const ModelArgs& args,
                                                          const BlockShape& shape,
                                                          ActivationCheckpoint checkpoint);

}  // namespace memtape::torchtitan
