// SPDX-License-Identifier: Apache-2.0
// The graph that torch.compile makes of one TransformerBlock: its products, attention and
// collectives are kernels, all between them is fused. Products of complex numbers are kernels of
// their own: inductor has no code for them, and takes aten's.
#pragma once

#include <memory>
#include <vector>

#include "framework/torch/inductor/graph.h"
#include "framework/torchtitan/model.h"

namespace memtape::torchtitan {

/// What decides the sizes of a block's graph.
struct BlockShape {
  std::int64_t batch = 1, tokens = 1;  ///< of the hidden states a block is given: cut along the
                                       ///< sequence under tensor parallelism
  std::int64_t tp = 1;
  DType dtype = DType::bfloat16;
};

std::shared_ptr<const torch::inductor::Graph> block_graph(const ModelArgs& args,
                                                          const BlockShape& shape,
                                                          ActivationCheckpoint checkpoint);

}  // namespace memtape::torchtitan
