// SPDX-License-Identifier: Apache-2.0
// LayerFrame: what the Python frame of a layer's forward holds until it returns beside what it
// computes with: `hidden_states, _ = self.self_attn(...)` keeps the attention weights of eager
// attention through the rest of the layer.
#pragma once

#include "ghost/given.h"
#include "ghost/tensor.h"

namespace memtape::nn {

class LayerFrame {
 public:
  static constexpr ghost::Slot kSlot = ghost::Slot::layer_frame;

  /// Keeps `tensor` until the innermost layer at work returns; outside a layer it is let go.
  static void keep_attention_weights(const ghost::Tensor& tensor);
  /// What the innermost layer at work keeps: with a second attention, until that has returned.
  static ghost::Tensor kept_attention_weights();

 private:
  ghost::Tensor attention_weights_;
  ghost::Given<LayerFrame> given_{this};
};

}  // namespace memtape::nn
