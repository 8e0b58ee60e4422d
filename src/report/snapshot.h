// SPDX-License-Identifier: Apache-2.0
// A memory snapshot of the measured step, as torch.cuda.memory._dump_snapshot() would have pickled
// it: PyTorch's own viewer (pytorch.org/memory_viz) and torch/cuda/_memory_viz.py open it. Format:
// torch/csrc/cuda/memory_snapshot.cpp.
//
// The history begins as if everything that is alive before the step had just been allocated; then
// come the step's events. Replaying the trace backwards from the final segments, as the viewer
// does, therefore ends with empty memory. Frames carry what memtape knows: module path as file, op
// and shape as function, and the module tree above it. Needs Trace::segments.
#pragma once

#include <string>

#include "outcome/prediction.h"

namespace memtape::report {

/// The bytes of a .pickle file.
std::string snapshot(const Trace& trace);

}  // namespace memtape::report
