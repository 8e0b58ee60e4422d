// SPDX-License-Identifier: Apache-2.0
// The verdict: the tape played once more against the real limit of the device, with the retries and
// freed caches that PyTorch makes.
#pragma once

#include "outcome/prediction.h"
#include "predict/step_play.h"

namespace memtape {

struct Verdict {
  bool fits = true;
  Bytes headroom_bytes = 0;  ///< negative if memory is missing
  bool gives_back = false;   ///< fits because cached segments go back to the driver on the way
  std::optional<Failure> failure;
};

/// `unlimited` is the same tape played without a limit. If it stays below the device's total,
/// nothing is replayed.
Verdict verdict(const Tape& tape, const DeviceSetup& device, const DeviceMemory& memory,
                const StepPlay& unlimited, int step);

/// Takes the bounds into account: whether the step would still fit with what the upper one adds, or
/// would fit with what the lower one takes away.
VerdictWord fit_within(const Bounds& bounds, Bytes peak_device, const Verdict& found,
                       const Tape& tape, const DeviceSetup& device, const DeviceMemory& memory,
                       int step);

/// The bounds of what is needed, which are as far below and above it as those of the peak. If the
/// step fits for certain, they end at the device's memory; if it may fit, they begin there at the
/// latest. So they always agree with the verdict (verdict_word()).
Bounds bounds_of_needed(Bounds about_peak, Bytes peak_device, Bytes needed, const Verdict& found,
                        VerdictWord word, Bytes total);

}  // namespace memtape
