// SPDX-License-Identifier: Apache-2.0
// An Apple GPU as ggml's scheduler sees it (ggml-metal.cpp, ggml-metal-device.m): the ops it
// supports, the room that kernels take beside their results, and the order into which it sorts its
// part of a graph. It shares the machine's memory, and yet results of the CPU are copied to it.
#pragma once

#include "ggml/backend.h"

namespace memtape::ggml {

struct MetalDevice {
  int number = 0;
  bool sorts = true;          ///< it sorts its part of the graph for kernels that run side by side
  bool keeps_scratch = true;  ///< experts and attention keep scratch memory behind their results
  bool pads_keys = true;      ///< attention keeps room for keys that fill up a block
};

class MetalBufferType : public BufferType {
 public:
  explicit MetalBufferType(MetalDevice device);
  Bytes alloc_size(const Tensor& tensor) const override;

 private:
  MetalDevice device_;
};

class MetalBackend : public Backend {
 public:
  explicit MetalBackend(MetalDevice device) : device_(device), own_(device) {}

  const BufferType& buffer_type() const override { return own_; }
  bool supports_op(const Tensor& op) const override;
  bool supports_buffer(const BufferType& type) const override { return &type == &own_; }
  bool offloads(const Tensor& op) const override;
  void reorder(std::vector<Tensor*>& nodes) const override;

 private:
  MetalDevice device_;
  MetalBufferType own_;
};

}  // namespace memtape::ggml
