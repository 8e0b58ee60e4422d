// SPDX-License-Identifier: Apache-2.0
// Engine: runs the graph backwards as torch::autograd::Engine does on its device thread: nodes in
// order of sequence number (latest first), gradients collected per node, added in place where
// nobody else holds the buffer, saved tensors released as soon as their node has run.
#pragma once

#include "ghost/autograd/node.h"

namespace memtape::ghost {

/// loss.backward(): makes the gradient of ones and runs the graph.
void backward(const Tensor& loss);

/// torch.autograd.backward(output, gradient): also from within a node that runs (reentrant).
void backward(const Tensor& output, const Tensor& gradient);

}  // namespace memtape::ghost
