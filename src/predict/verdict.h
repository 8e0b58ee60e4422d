// SPDX-License-Identifier: Apache-2.0
// The verdict: the tape once more against the real limit of the device, with retries and freed
// caches as PyTorch makes them.
#pragma once

#include "predict/step_play.h"
#include "report/prediction.h"

namespace memtape {

struct Verdict {
  bool fits = true;
  Bytes headroom_bytes = 0;  ///< negative: what is missing
  std::optional<Failure> failure;
};

/// `unlimited` is the same tape played without a limit: where it stays below the device's total
/// there is nothing to replay.
Verdict verdict(const Tape& tape, const DeviceSetup& device, const DeviceMemory& memory,
                const StepPlay& unlimited, int step);

/// With the bounds: whether it would fit with what the upper one adds, or with what the lower one
/// takes away.
VerdictWord fit_within(const Bounds& bounds, Bytes peak_device, const Verdict& found,
                       const Tape& tape, const DeviceSetup& device, const DeviceMemory& memory,
                       int step);

}  // namespace memtape
