// SPDX-License-Identifier: Apache-2.0
// The backward of a stage in two parts (torch/distributed/pipelining/_backward.py). The first
// computes the gradients of the inputs, so that the stage before can go on; the second computes
// those of the weights. Between them are the nodes at which the way to the weights leaves the way
// to the inputs (such as the mm of a linear layer): the gradients that arrive there are kept,
// together with the graph, until the second part starts from them.
#pragma once

#include <vector>

#include "ghost/autograd/node.h"

namespace memtape::torch_pp {

using ghost::Tensor;

/// Parameters that depend on the same nodes, and the gradients that arrived at those nodes.
struct ParamGroup {
  std::vector<Tensor> params;
  std::vector<ghost::Ptr<ghost::Node>> intermediates;
  std::vector<std::vector<Tensor>> grads;  ///< one list for each intermediate node
};

struct InputBackward {
  Tensor dinput;
  std::vector<ParamGroup> param_groups;
};

/// stage_backward: computes all gradients. It returns the input's gradient, if the input requires
/// one, and takes it off the input.
Tensor stage_backward(const Tensor& output_or_loss, const Tensor& output_grad, const Tensor& input);

/// stage_backward_input. If `output_grad` is undefined, it stands for ones.
InputBackward stage_backward_input(const Tensor& output_or_loss, const Tensor& output_grad,
                                   const Tensor& input, const std::vector<Tensor>& weights);

/// stage_backward_weight, which empties the groups.
void stage_backward_weight(std::vector<ParamGroup>& param_groups);

/// Tensor.detach_(), which drops the history.
void detach_in_place(const Tensor& tensor);

}  // namespace memtape::torch_pp
