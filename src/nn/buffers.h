// SPDX-License-Identifier: Apache-2.0
// model.buffers(): depth first, in the order in which they were registered.
#pragma once

#include <vector>

#include "nn/module.h"

namespace memtape::nn {

std::vector<Tensor> buffers(const ModuleNode& root);

}  // namespace memtape::nn
