// SPDX-License-Identifier: Apache-2.0
// Lowered: a graph that grows out of a traced pass, and where the blocks of that are in it.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "framework/torch/inductor/graph.h"
#include "framework/torch/inductor/traced_pass.h"

namespace memtape::torch::inductor {

struct Lowered {
  Graph graph;
  std::unordered_map<BlockId, ValueId> values;  ///< by block of the traced session
  /// What a norm scales, by the statistic that it was divided by.
  std::unordered_map<ValueId, ValueId> normalized;

  /// The value that a block holds; an input of the graph where nothing has made it.
  ValueId value_of(BlockId block, const TracedPass& pass);
};

/// A traced block's sizes, as far as they are known: their product is.
Dims sizes_of(BlockId block);

/// Ops whose results are buffers of their own, which are not computed twice: torch calls a library
/// for them.
bool is_kernel(std::string_view op);

/// The forward's ops as values (torch/_inductor/decomposition.py, lowering.py).
Lowered lower_forward(const TracedPass& pass);

/// What the backward gives and takes.
struct LoweredBackward {
  ValueId grad_loss = 0;
  std::optional<ValueId> grad_logits;  ///< where one graph returns logits and loss
  std::optional<ValueId> hidden;       ///< what the head has read, where a graph returns it, too
  std::optional<ValueId> grad_hidden;
  std::vector<std::optional<ValueId>> gradients;  ///< by parameter
};

/// The backward of the pass's autograd graph, as values behind those of the forward.
LoweredBackward lower_backward(Lowered& lowered, const TracedPass& pass);

/// What the attention kernels of the backward take while they run, as they ran in `pass`.
void measure_scratch(Lowered& lowered, const TracedPass& pass);

}  // namespace memtape::torch::inductor
