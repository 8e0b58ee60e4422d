// SPDX-License-Identifier: Apache-2.0
// TracedPass: one forward of a model on ghost tensors as torch.compile sees it: its ops, its
// autograd graph, and what each node of that keeps.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "base/result.h"
#include "family/pretrained.h"
#include "ghost/session.h"
#include "ghost/trace.h"

namespace memtape {
struct TrainRecipe;
}

namespace memtape::torch::inductor {

struct TracedPass {
  std::vector<ghost::TracedOp> forward, backward;
  std::size_t built_blocks = 0;  ///< blocks before this one are the model's
  ghost::Tensor loss, logits;
  bool breaks_at_loss = false;  ///< the loss is a graph of its own behind that of the model
  std::vector<ghost::Tensor> parameters;  ///< those that want gradients
  std::map<ScopeId, int> checkpointed;    ///< calls that are, by their module, numbered from 1
  /// Blocks that a node keeps, in its order, by the sequence number of the node made last.
  std::map<std::uint64_t, std::vector<BlockId>> kept;
};

/// The model, and its forward traced; `model` owns what the tensors are of.
Result<void> trace_forward(const Config& config, const TrainRecipe& recipe,
                           std::unique_ptr<family::PretrainedModel>& model, TracedPass& pass);
/// Its backward, which uses the autograd graph up.
void trace_backward(TracedPass& pass);

}  // namespace memtape::torch::inductor
