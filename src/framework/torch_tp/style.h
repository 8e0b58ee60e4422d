// SPDX-License-Identifier: Apache-2.0
// Style: what parallelize_module does to one module (torch/distributed/tensor/parallel/style.py,
// and transformers' distributed/tensor_parallel.py, whose styles differ only in when they wait).
// The module's parameters become this GPU's pieces, and hooks around its forward change the
// placement of what goes in and comes out.
//
//     ColwiseParallel    divides the rows of the weight; the input is whole, and the output is
//                        divided along its last dimension
//     RowwiseParallel    divides the columns of the weight and, in the same way, the input; the
//                        outputs are summands
//     SequenceParallel   parameters are whole; input and output are divided along the sequence
//     PrepareModuleInput gathers what the module is given
//     PrepareModuleInputOutput does so, and adds up or divides what the module makes; the module
//                        itself sees plain tensors and sends back a whole gradient
//     whole              parameters, inputs and outputs are whole on every GPU (torchtitan's
//                        NoParallel, distributed/__init__.py)
//     summed_gradient    the gradient of the input comes as summands (torchtitan's TensorParallel
//                        of experts, distributed/expert_parallel.py)
//     backward_hook      adds up the gradients of a whole parameter if each GPU has its own heads
#pragma once

#include <memory>

#include "framework/torch_tp/redistribute.h"
#include "nn/module.h"

namespace memtape::torch_tp {

struct Style {
  enum class Kind {
    colwise,
    rowwise,
    sequence,
    prepare_input,
    prepare_input_output,
    whole,
    summed_gradient,
    backward_hook
  };
  Kind kind = Kind::colwise;
  Placement input = kReplicate, output = kReplicate;  ///< input_layouts, output_layouts
  bool input_is_distributed = false;                  ///< the input is a DTensor already
  bool use_local_output = true;
  bool async = true;           ///< torch's styles do not wait for what they send
  bool sums_gradient = false;  ///< each GPU's gradient of whole parameters is a summand
  bool scatters = true;        ///< the parameters come from the group's first GPU (src_data_rank=0)
};

/// Applies `style` to the module at `node`. The returned object owns the hooks. Parameters that
/// have become DTensors are added to `distributed`.
std::unique_ptr<nn::ForwardHooks> apply_style(nn::ModuleNode& node, const Style& style,
                                              const Mesh& mesh, std::vector<Tensor>& distributed);

}  // namespace memtape::torch_tp
