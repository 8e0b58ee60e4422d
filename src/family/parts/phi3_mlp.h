// SPDX-License-Identifier: Apache-2.0
// Phi3MLP: gate and up in one projection (transformers 5.17 models/phi3/modeling_phi3.py).
#pragma once

#include "family/parts/decoder_config.h"
#include "nn/layers.h"

namespace memtape::family {

class Phi3MLP : public nn::Module<Phi3MLP> {
 public:
  Phi3MLP(const nn::Scope& scope, const DecoderConfig& c)
      : Module(scope),
        gate_up_proj_(scope / "gate_up_proj", c.hidden_size, 2 * c.intermediate_size, false),
        down_proj_(scope / "down_proj", c.intermediate_size, c.hidden_size, false),
        activation_fn_(c.hidden_act) {}

  Tensor forward(const Tensor& hidden_states) {
    Tensor up_states = gate_up_proj_(hidden_states);
    std::vector<Tensor> halves = up_states.chunk(2, -1);
    const Tensor gate = std::move(halves[0]);
    up_states = std::move(halves[1]);
    up_states = up_states.mul(activation_fn_(gate));
    return down_proj_(up_states);
  }

 private:
  nn::Linear gate_up_proj_, down_proj_;
  nn::Activation activation_fn_;
};

}  // namespace memtape::family
