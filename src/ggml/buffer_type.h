// SPDX-License-Identifier: Apache-2.0
// BufferType: a kind of memory that tensors can lie in, with its backend's rules for sizes
// (ggml-backend-impl.h, ggml_backend_buffer_type_i).
#pragma once

#include <string>
#include <utility>

#include "base/bytes.h"

namespace memtape::ggml {

struct Tensor;

class BufferType {
 public:
  static constexpr int kHost = -1;

  BufferType(std::string name, Bytes alignment, int device)
      : name_(std::move(name)), alignment_(alignment), device_(device) {}
  virtual ~BufferType() = default;

  const std::string& name() const { return name_; }
  Bytes alignment() const { return alignment_; }
  bool is_host() const { return device_ == kHost; }
  int device() const { return device_; }

  /// The bytes that the tensor takes before alignment; at least its own bytes.
  virtual Bytes alloc_size(const Tensor& tensor) const;

 private:
  std::string name_;
  Bytes alignment_;
  int device_;
};

}  // namespace memtape::ggml
