// SPDX-License-Identifier: Apache-2.0
#include "nn/layer_frame.h"

#include <utility>

namespace memtape::nn {
namespace {

thread_local LayerFrame* current_frame = nullptr;

}  // namespace

LayerFrame::LayerFrame() : outer_(std::exchange(current_frame, this)) {}
LayerFrame::~LayerFrame() { current_frame = outer_; }

void LayerFrame::keep_attention_weights(const ghost::Tensor& tensor) {
  if (current_frame) current_frame->attention_weights_ = tensor;
}

ghost::Tensor LayerFrame::kept_attention_weights() {
  return current_frame ? current_frame->attention_weights_ : ghost::Tensor();
}

}  // namespace memtape::nn
