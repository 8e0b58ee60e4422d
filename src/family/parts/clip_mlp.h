// SPDX-License-Identifier: Apache-2.0
// ClipMLP: two linear layers and an activation between them (CLIPMLP of transformers 5.17
// models/clip/modeling_clip.py, which Phi inherits and ViT repeats).
#pragma once

#include "nn/activations.h"
#include "nn/layers.h"

namespace memtape::family {

class ClipMLP : public nn::Module<ClipMLP> {
 public:
  /// Made from settings that have a hidden_size, an intermediate_size and a hidden_act.
  template <class Settings>
  ClipMLP(const nn::Scope& scope, const Settings& c)
      : Module(scope),
        activation_fn_(c.hidden_act),
        fc1_(scope / "fc1", c.hidden_size, c.intermediate_size),
        fc2_(scope / "fc2", c.intermediate_size, c.hidden_size) {}

  ghost::Tensor forward(const ghost::Tensor& x) {
    ghost::Tensor hidden_states = fc1_(x);
    hidden_states = activation_fn_(hidden_states);
    hidden_states = fc2_(hidden_states);
    return hidden_states;
  }

 private:
  nn::Activation activation_fn_;
  nn::Linear fc1_, fc2_;
};

}  // namespace memtape::family
