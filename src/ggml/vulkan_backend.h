// SPDX-License-Identifier: Apache-2.0
// A Vulkan device as ggml's scheduler sees it (ggml-vulkan.cpp): the ops it supports, sizes without
// padding, and the order into which it sorts its part of a graph.
#pragma once

#include "ggml/backend.h"

namespace memtape::ggml {

struct VulkanDevice {
  int number = 0;
  bool sorts = true;  ///< it sorts its part of the graph for kernels that run side by side
  bool vector_attention = true;  ///< it has flash attention without NVIDIA's cooperative matrices
};

class VulkanBackend : public Backend {
 public:
  explicit VulkanBackend(VulkanDevice device);

  const BufferType& buffer_type() const override { return own_; }
  bool supports_op(const Tensor& op) const override;
  bool supports_buffer(const BufferType& type) const override { return &type == &own_; }
  bool offloads(const Tensor& op) const override;
  void reorder(std::vector<Tensor*>& nodes) const override;

 private:
  VulkanDevice device_;
  BufferType own_;
};

}  // namespace memtape::ggml
