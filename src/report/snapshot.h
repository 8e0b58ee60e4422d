// SPDX-License-Identifier: Apache-2.0
// A memory snapshot of the measured step, as torch.cuda.memory._dump_snapshot() would have pickled
// it. PyTorch's own viewer (pytorch.org/memory_viz) and torch/cuda/_memory_viz.py can open it. The
// format is that of torch/csrc/cuda/memory_snapshot.cpp.
//
// The history begins as if everything that is alive before the step had just been allocated; the
// step's events follow. So if one replays the trace backwards from the final segments, as the
// viewer does, one ends with empty memory. Frames carry what memtape knows: the module's path as
// the file, op and shape as the function, and above them the tree of modules. It needs
// Trace::segments.
#pragma once

#include <string>

#include "outcome/prediction.h"

namespace memtape::report {

/// The bytes of a .pickle file.
std::string snapshot(const Trace& trace);

}  // namespace memtape::report
