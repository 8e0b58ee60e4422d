// SPDX-License-Identifier: Apache-2.0
// A reentrant checkpoint of a part with several inputs that may want gradients, or with several
// outputs (torch/utils/checkpoint.py, CheckpointFunction): all inputs are saved, detached when the
// part runs again, and each gets the gradient that its detached copy has then.
#pragma once

#include <functional>
#include <vector>

#include "ghost/tensor.h"

namespace memtape::ghost {

/// From inputs to outputs; what is undefined is None.
using CheckpointedPart = std::function<std::vector<Tensor>(const std::vector<Tensor>& inputs)>;

/// `let_go` is called when the node lets go of what it saved. The gradient of an output that no
/// loss depends on is made of zeros (set_materialize_grads).
std::vector<Tensor> checkpoint_reentrant_of_several(const CheckpointedPart& part,
                                                    const std::vector<Tensor>& inputs,
                                                    const std::function<void()>& let_go);

}  // namespace memtape::ghost
