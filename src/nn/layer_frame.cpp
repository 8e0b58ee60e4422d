// SPDX-License-Identifier: Apache-2.0
#include "nn/layer_frame.h"

#include <utility>

namespace memtape::nn {
namespace {

thread_local LayerFrame* current = nullptr;

}  // namespace

LayerFrame::LayerFrame() : outer_(std::exchange(current, this)) {}
LayerFrame::~LayerFrame() { current = outer_; }

void LayerFrame::keep_attention_weights(const ghost::Tensor& tensor) {
  if (current) current->attention_weights_ = tensor;
}

ghost::Tensor LayerFrame::kept_attention_weights() {
  return current ? current->attention_weights_ : ghost::Tensor();
}

}  // namespace memtape::nn
