// SPDX-License-Identifier: Apache-2.0
#include "nn/layer_frame.h"

namespace memtape::nn {

void LayerFrame::keep_attention_weights(const ghost::Tensor& tensor) {
  if (LayerFrame* const frame = ghost::given_here<LayerFrame>()) frame->attention_weights_ = tensor;
}

void LayerFrame::keep_key_values(const ghost::Tensor& keys, const ghost::Tensor& values) {
  if (LayerFrame* const frame = ghost::given_here<LayerFrame>())
    frame->key_values_.insert(frame->key_values_.end(), {keys, values});
}

ghost::Tensor LayerFrame::kept_attention_weights() {
  const LayerFrame* const frame = ghost::given_here<LayerFrame>();
  return frame ? frame->attention_weights_ : ghost::Tensor();
}

}  // namespace memtape::nn
