// SPDX-License-Identifier: Apache-2.0
// TrainClock: adds up the time of a step from the layers, the pipeline's schedule, the messages of
// data parallel ranks, the optimizer and what is offloaded.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <vector>

#include "time/layer_time.h"
#include "time/pipeline.h"
#include "time/step_time.h"

namespace memtape::time {

class TrainClock {
 public:
  TrainClock(const ModelShape& shape, const Kernels& kernels, const Collectives& collectives)
      : shape_(shape),
        kernels_(kernels),
        collectives_(collectives),
        layers_(shape, kernels, collectives) {}

  StepTime step(const TrainSetup& setup, bool timeline, bool explains) const;

 private:
  struct Stage;
  struct Layers;
  struct Sharding;
  struct Once;
  const Layers& layers_of(const TrainSetup& setup) const;
  std::vector<Stage> stages(const TrainSetup& setup, const Layers& layers) const;
  std::vector<std::int64_t> cuts(const TrainSetup& s, const Layers& layers) const;
  Stage chunk(const TrainSetup& s, const Layers& layers, std::int64_t first,
              std::int64_t last) const;
  void add_sharded(Stage& stage, const TrainSetup& setup) const;
  Pipeline pipeline(const TrainSetup& s, const std::vector<Stage>& stages) const;
  PipelineTime run(const Pipeline& pipeline) const;
  static Stage rank_of(const Pipeline& pipeline, const std::vector<Stage>& stages,
                       std::int64_t rank);
  static std::vector<TimePart> parts_of(const TrainSetup& s, const Stage& rank, const Once& once,
                                        double pipeline_seconds, double busy);
  Sharding sharding(const TrainSetup& setup) const;
  double data_messages(const TrainSetup& s, const Stage& fullest, double& hidden) const;
  double optimizer_seconds(const TrainSetup& s, double parameters) const;
  double offload_seconds(const TrainSetup& s, double parameters) const;

  const ModelShape& shape_;
  const Kernels& kernels_;
  const Collectives& collectives_;
  LayerClock layers_;
  /// The costs of layers, which depend on few of a layout's sizes and are kept under those.
  mutable std::map<std::vector<std::int64_t>, std::shared_ptr<const Layers>> kept_;
  /// The pipeline's bubbles, kept by schedule and by the chunks' times relative to their mean.
  mutable std::map<std::vector<std::int64_t>, double> bubbles_;
};

/// The operations of a step on all GPUs, forward and backward, without recomputation.
double model_flops(const ModelShape& shape, double tokens, double sequence);

}  // namespace memtape::time
