// SPDX-License-Identifier: Apache-2.0
// StepSummary: one training step of a model with equal layers in closed form, for any number of
// layers. It is computed from the exact tapes of three small models. If a window of the tape grows
// by the same block of events with each layer, the window is head + block * layers + tail. If it
// grows in another way (the lists of the optimizer do), its delta and its peak are straight lines
// in the number of layers. The third tape checks both, so a model whose layers differ has no
// summary.
#pragma once

#include <optional>
#include <vector>

#include "predict/train.h"
#include "tape/summary.h"

namespace memtape {

/// The configuration with another number of layers, under the name by which it says it.
Config with_so_many_layers(const Config& config, std::int64_t layers);

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
    Bytes base = 0, slope = 0;  ///< at kLeastLayers layers, and for each further one
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

/// The summary of a model under a recipe, whatever its number of layers; empty if its layers are
/// not alike.
Result<std::optional<StepSummary>> summarize_step(const Config& config, const TrainRecipe& recipe,
                                                  const ghost::DeviceTraits& device);

}  // namespace memtape
