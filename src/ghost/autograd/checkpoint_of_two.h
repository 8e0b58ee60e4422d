// SPDX-License-Identifier: Apache-2.0
// A reentrant checkpoint of a part with two inputs that may want gradients
// (torch/utils/checkpoint.py, CheckpointFunction): both are saved, detached when the part runs
// again, and each gets the gradient that its detached copy has then.
#pragma once

#include <functional>

#include "ghost/tensor.h"

namespace memtape::ghost {

/// `let_go` is called when the node lets go of what it saved.
Tensor checkpoint_reentrant_of_two(
    const std::function<Tensor(const Tensor& input, const Tensor& other)>& function,
    const Tensor& input, const Tensor& other, const std::function<void()>& let_go);

}  // namespace memtape::ghost
