// SPDX-License-Identifier: Apache-2.0
// The backward of a stage in two parts (torch/distributed/pipelining/_backward.py): first the
// gradients of the inputs, so that the stage before can go on, later those of the weights. What
// lies between are the nodes where the way to the weights leaves the way to the inputs (a linear's
// mm): the gradients that arrive there are kept, with the graph, until the second part starts from
// them.
#pragma once

#include <vector>

#include "ghost/autograd/node.h"

namespace memtape::torch_pp {

using ghost::Tensor;

/// Parameters that hang on the same nodes, and what arrived at those nodes.
struct ParamGroup {
  std::vector<Tensor> params;
  std::vector<ghost::Ptr<ghost::Node>> intermediates;
  std::vector<std::vector<Tensor>> grads;  ///< one list per intermediate
};

struct InputBackward {
  Tensor dinput;
  std::vector<ParamGroup> param_groups;
};

/// stage_backward: all gradients; gives the input's, if it wants one, and takes it off the input.
Tensor stage_backward(const Tensor& output_or_loss, const Tensor& output_grad, const Tensor& input);

/// stage_backward_input. `output_grad` undefined: ones.
InputBackward stage_backward_input(const Tensor& output_or_loss, const Tensor& output_grad,
                                   const Tensor& input, const std::vector<Tensor>& weights);

/// stage_backward_weight: empties the groups.
void stage_backward_weight(std::vector<ParamGroup>& param_groups);

/// Tensor.detach_(): the history goes.
void detach_in_place(const Tensor& tensor);

}  // namespace memtape::torch_pp
