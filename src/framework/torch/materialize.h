// SPDX-License-Identifier: Apache-2.0
// Materialize: a model built in host memory (or on the meta device) gets its tensors on the GPU, as
// module.to("cuda") and to_empty() do: children before their parent, parameters before buffers, a
// shared tensor once.
#pragma once

#include "nn/module.h"

namespace memtape::torch {

/// Gives `tensor` memory of its own on the device, unless it has some.
void to_device(const ghost::Tensor& tensor, Category category);

/// The same for all parameters and buffers of a module and of those inside it.
void to_device(nn::ModuleNode& module);

}  // namespace memtape::torch
