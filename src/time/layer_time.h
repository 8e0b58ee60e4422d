// SPDX-License-Identifier: Apache-2.0
// LayerTime: what one layer takes for one micro-batch on one rank: forward, backward and
// recomputation, by kind of work. These are closed formulas of the layer's sizes; a test compares
// their operations with those of the ghost step.
#pragma once

#include "time/collectives.h"
#include "time/kernels.h"
#include "time/model_shape.h"
#include "time/train_setup.h"

namespace memtape::time {

/// Seconds by kind of work. Messages count if they are waited for. Messages that run behind
/// computation are kept apart, because they slow the computation down.
struct Spent {
  double gemm = 0, attention = 0, elementwise = 0;
  double tp = 0, ep = 0, cp = 0;
  double hidden = 0;   ///< the time of messages that run behind computation
  double kernels = 0;  ///< the number of kernel launches

  double compute() const { return gemm + attention + elementwise; }
  double messages() const { return tp + ep + cp; }
  Spent& operator+=(const Spent& o);
  Spent times(double n) const;
};

struct LayerTime {
  Spent forward, recompute;
  Spent backward;  ///< the gradients of inputs
  Spent weights;   ///< the gradients of weights

  LayerTime& operator+=(const LayerTime& other) {
    forward += other.forward;
    recompute += other.recompute;
    backward += other.backward;
    weights += other.weights;
    return *this;
  }
};

class LayerClock {
 public:
  LayerClock(const ModelShape& shape, const Kernels& kernels, const Collectives& collectives)
      : shape_(shape), kernels_(kernels), collectives_(collectives) {}

  LayerTime layer(const LayerShape& layer, const TrainSetup& setup) const;
  /// The time of the output head with its loss, and of the embedding's lookup.
  LayerTime head(const TrainSetup& setup) const;
  LayerTime embedding(const TrainSetup& setup) const;

 private:
  struct Sizes;
  struct Linear;
  Sizes sizes(const TrainSetup& setup) const;
  void linear(LayerTime& t, const Sizes& z, const Linear& l) const;
  void attention(LayerTime& t, const Sizes& z, const AttentionShape& a) const;
  void projections(LayerTime& t, const Sizes& z, const AttentionShape& a) const;
  void core_attention(LayerTime& t, const Sizes& z, const AttentionShape& a) const;
  void context_messages(LayerTime& t, const Sizes& z, const AttentionShape& a) const;
  void dense(LayerTime& t, const Sizes& z, const MlpShape& m, double width) const;
  void mixture(LayerTime& t, const Sizes& z, const MlpShape& m) const;
  double gemm_not_made_again(const Sizes& z, const LayerShape& l) const;
  void dispatch(LayerTime& t, const Sizes& z, const MlpShape& m) const;
  void norms(LayerTime& t, const Sizes& z, double norms) const;
  void tensor_messages(LayerTime& t, const Sizes& z, double gemm_behind) const;

  const ModelShape& shape_;
  const Kernels& kernels_;
  const Collectives& collectives_;
};

}  // namespace memtape::time
