// SPDX-License-Identifier: Apache-2.0
// StepSummary: one training step of a model with equal layers, for any number of layers, in closed
// form. It is read off the exact tapes of three small models: where a window of the tape grows by
// one and the same block of events a layer, the window is head + block * layers + tail; where it
// grows in another way (the optimizer's lists), its delta and peak are straight lines in the number
// of layers. Both are checked on the third tape, so a model whose layers differ has no summary.
#pragma once

#include <optional>
#include <vector>

#include "predict/train.h"
#include "tape/summary.h"

namespace memtape {

class StepSummary {
 public:
  /// Peak of the requested bytes over one step of the model with `layers` layers (at least
  /// kLeastLayers).
  Bytes peak_requested(std::int64_t layers) const;
  /// Requested bytes between steps.
  Bytes steady_requested(std::int64_t layers) const { return steady_.at(layers); }

  static constexpr std::int64_t kLeastLayers = 3;

 private:
  friend class SummaryBuilder;

  struct Line {
    Bytes base = 0, slope = 0;  ///< at kLeastLayers layers, and per layer more
    Bytes at(std::int64_t layers) const { return base + slope * (layers - kLeastLayers); }
  };
  struct Stretch {
    Summary head, block, tail;  ///< head + block * (layers - kLeastLayers) + tail
    Line delta, peak;           ///< instead, where is_line
    bool is_line = false;
    Summary at(std::int64_t layers) const;
  };

  Line steady_;
  std::vector<Stretch> windows_;
};

/// The summary of a model under a recipe, whatever its number of layers; nothing where its layers
/// are not alike.
Result<std::optional<StepSummary>> summarize_step(const Config& config, const TrainRecipe& recipe,
                                                  const ghost::DeviceTraits& device);

}  // namespace memtape
