// SPDX-License-Identifier: Apache-2.0
// LayerFrame: what the Python frame of a layer's forward keeps alive until it returns, beside the
// tensors that it computes with. `hidden_states, _ = self.self_attn(...)` keeps the attention
// weights of eager attention alive through the rest of the layer.
#pragma once

#include "ghost/given.h"
#include "ghost/tensor_list.h"

namespace memtape::nn {

class LayerFrame {
 public:
  static constexpr ghost::Slot kSlot = ghost::Slot::layer_frame;

  /// Keeps `tensor` until the innermost running layer returns. Outside a layer nothing keeps it.
  static void keep_attention_weights(const ghost::Tensor& tensor);
  /// What the innermost running layer keeps. A layer with a second attention holds it until that
  /// has returned.
  static ghost::Tensor kept_attention_weights();
  /// Keeps keys and values that an attention returns beside its output, whoever asks.
  static void keep_key_values(const ghost::Tensor& keys, const ghost::Tensor& values);

 private:
  ghost::Tensor attention_weights_;
  ghost::TensorList key_values_;
  ghost::Given<LayerFrame> given_{this};
};

}  // namespace memtape::nn
