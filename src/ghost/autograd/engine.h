// SPDX-License-Identifier: Apache-2.0
// Engine: runs the graph backwards as torch::autograd::Engine does on its device thread: nodes in
// order of sequence number (latest first), gradients collected per node, added in place where
// nobody else holds the buffer, saved tensors released as soon as their node has run.
#pragma once

#include <span>
#include <vector>

#include "ghost/autograd/node.h"

namespace memtape::ghost {

/// loss.backward(): makes the gradient of ones and runs the graph.
void backward(const Tensor& loss);

/// torch.autograd.backward(output, gradient). A running node may call it, too (reentrant).
void backward(const Tensor& output, const Tensor& gradient);
void backward(std::span<const Tensor> outputs, std::span<const Tensor> gradients);

/// torch.autograd.grad from `outputs`, which get `gradients`. Only nodes on the way to `inputs`
/// run, and the gradients that arrive there are returned instead of accumulated.
enum class GraphAfter { freed, kept };  ///< retain_graph
std::vector<Tensor> grad(std::span<const Edge> outputs, std::span<const Tensor> gradients,
                         std::span<const Edge> inputs, GraphAfter after);

}  // namespace memtape::ghost
