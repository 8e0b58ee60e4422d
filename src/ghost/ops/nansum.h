// SPDX-License-Identifier: Apache-2.0
// torch.nansum() of all elements: its backward asks again which of them are numbers
// (nansum_backward of FunctionsManual.cpp), so it keeps them.
#pragma once

#include "ghost/tensor.h"

namespace memtape::ghost {

Tensor nansum(const In& self);

}  // namespace memtape::ghost
