// SPDX-License-Identifier: Apache-2.0
// torch.nansum() of all elements. Backward asks again which elements are numbers (nansum_backward
// of FunctionsManual.cpp), so autograd keeps the elements.
#pragma once

#include "ghost/tensor.h"

namespace memtape::ghost {

Tensor nansum(const In& self);

}  // namespace memtape::ghost
