// SPDX-License-Identifier: Apache-2.0
// Broadcasts go in flat copies of at most 250 MiB, two at a time (broadcast_coalesced of
// torch/csrc/distributed/c10d/comm.cpp; this is the size of DDP's and FSDP1's bucket).
#pragma once

#include <vector>

#include "ghost/tensor.h"

namespace memtape::ddp {

void broadcast_coalesced(const std::vector<ghost::Tensor>& tensors);

}  // namespace memtape::ddp
