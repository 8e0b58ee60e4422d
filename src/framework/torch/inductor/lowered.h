// SPDX-License-Identifier: Apache-2.0
// Lowered: a graph that is built from a traced pass, and which of its values stand for the pass's
// blocks.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "framework/torch/inductor/graph.h"
#include "framework/torch/inductor/traced_pass.h"

namespace memtape::torch::inductor {

struct Lowered {
  Graph graph;
  std::unordered_map<BlockId, ValueId> values;  ///< by the block of the traced session
  /// For each statistic by which a norm divides, what the norm scales.
  std::unordered_map<ValueId, ValueId> normalized;

  /// The value that a block holds. If nothing has made it, it becomes an input of the graph.
  ValueId value_of(BlockId block, const TracedPass& pass);
};

/// The sizes of a traced block, as far as they are known; only their product is certain.
Dims sizes_of(BlockId block);

/// Whether torch calls a library for the op. Results of such ops have their own buffers and are not
/// computed twice.
bool is_kernel(std::string_view op);

/// The ops of the forward as values (torch/_inductor/decomposition.py, lowering.py).
Lowered lower_forward(const TracedPass& pass);

/// What the backward returns and takes.
struct LoweredBackward {
  ValueId grad_loss = 0;
  std::optional<ValueId> grad_logits;  ///< set if one graph returns both logits and loss
  std::optional<ValueId> hidden;       ///< what the head has read, if a graph returns it, too
  std::optional<ValueId> grad_hidden;
  std::vector<std::optional<ValueId>> gradients;  ///< for each parameter
};

/// The backward of the pass's autograd graph, as values that follow those of the forward.
LoweredBackward lower_backward(Lowered& lowered, const TracedPass& pass);

/// Notes what the attention kernels of the backward took while they ran in `pass`.
void measure_scratch(Lowered& lowered, const TracedPass& pass);

}  // namespace memtape::torch::inductor
