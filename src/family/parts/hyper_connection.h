// SPDX-License-Identifier: Apache-2.0
// Hyper-connections: the residual consists of `hc_mult` parallel streams [B, S, H, D]. Learned
// weights collapse them before a block and mix them after it, by a matrix that Sinkhorn's iteration
// makes doubly stochastic. Mirrors transformers 5.17 models/deepseek_v4/modeling_deepseek_v4.py.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "family/parts/put_into_float32.h"
#include "nn/module.h"

namespace memtape::family {

using ghost::Tensor;

/// Parameters that are put into float32 since kDeepseekV4KeepsNormsInFloat32, and have the model's
/// dtype before.
std::vector<Tensor> deepseek_v4_parameters(const nn::Scope& scope,
                                           std::span<const NamedSizes> wanted);

struct HyperConnectionSettings {
  std::int64_t hidden_size = 0, mult = 4, sinkhorn_iterations = 20;
};

/// x * rsqrt(mean of squares): an RMS norm without a weight.
class UnweightedRMSNorm : public nn::Module<UnweightedRMSNorm> {
 public:
  explicit UnweightedRMSNorm(const nn::Scope& scope) : Module(scope) {}
  Tensor forward(const Tensor& x);
};

class HyperConnection : public nn::Module<HyperConnection> {
 public:
  HyperConnection(const nn::Scope& scope, const HyperConnectionSettings& settings);
  struct Weights {
    Tensor post, comb, collapsed;
  };
  Weights forward(const Tensor& hidden_streams);

  /// Combines the output of a block with the streams that the layer had before.
  static Tensor mix(const Weights& weights, const Tensor& output, const Tensor& hidden_states);

 private:
  Tensor sinkhorn(Tensor comb_logits) const;

  HyperConnectionSettings settings_;
  UnweightedRMSNorm input_norm_;
  Tensor fn_, base_, scale_;
};

/// Collapses the streams a last time, before the model's norm.
class HyperHead : public nn::Module<HyperHead> {
 public:
  HyperHead(const nn::Scope& scope, const HyperConnectionSettings& settings);
  Tensor forward(const Tensor& x);

 private:
  UnweightedRMSNorm input_norm_;
  Tensor hc_fn_, hc_base_, hc_scale_;
};

}  // namespace memtape::family
