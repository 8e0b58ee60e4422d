// SPDX-License-Identifier: Apache-2.0
// TracedPass: one forward of a model on ghost tensors, as torch.compile sees it: its ops, its
// autograd graph, and what each node of that graph keeps.
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
  std::size_t built_blocks = 0;  ///< blocks with smaller numbers belong to the model
  ghost::Tensor loss, logits;
  bool breaks_at_loss = false;            ///< the loss is a separate graph after that of the model
  std::vector<ghost::Tensor> parameters;  ///< those that require gradients
  std::map<ScopeId, int> checkpointed;  ///< the checkpointed calls by their module, counted from 1
  /// The blocks that each node keeps, in its order. The key is the sequence number of the node that
  /// was made last.
  std::map<std::uint64_t, std::vector<BlockId>> kept;
};

/// Builds the model and traces its forward. `model` owns what the tensors refer to.
Result<void> trace_forward(const Config& config, const TrainRecipe& recipe,
                           std::unique_ptr<family::PretrainedModel>& model, TracedPass& pass);
/// Traces the backward, which uses up the autograd graph.
void trace_backward(TracedPass& pass);

}  // namespace memtape::torch::inductor
