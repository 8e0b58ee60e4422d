// SPDX-License-Identifier: Apache-2.0
// Bounds: how far the device peak may lie from the prediction. Each cause of a deviation that is
// known but not modelled widens them, and is named.
#pragma once

#include <optional>

#include "framework/torch/train_loop.h"
#include "predict/train.h"

namespace memtape {

/// What libraries of a real device decide about a step, and neither tape nor recording tells.
struct LibraryChoices {
  /// The largest scratch of flash attention's backward: what cuDNN's kernels would have in its
  /// place is theirs to say.
  Bytes flash_scratch = 0;
  /// How far a workspace as large as the largest result of cuDNN's convolutions would rise above
  /// the peak, where the program is at them; nothing where it has none.
  std::optional<Bytes> convolution_excess;
};

Bounds bounds_of(const torch::TrainRun& run, const DeviceSetup& device, const RankReport& rank);

/// Those of a step whose tape is not known, but what the libraries had to decide.
Bounds bounds_about(const RankReport& rank, const LibraryChoices& choices,
                    const DeviceSetup& device);

}  // namespace memtape
