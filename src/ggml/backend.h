// SPDX-License-Identifier: Apache-2.0
// Backend: what the scheduler asks of a device (ggml-backend-impl.h, ggml_backend_device_i): which
// ops and buffers it can use, and whether it would rather run an op even if its weights are on the
// host.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "ggml/tensor.h"

namespace memtape::ggml {

/// Tensors that must not be freed before another node has been computed.
using AllocDependencies = std::map<const Tensor*, std::vector<Tensor*>>;

class Backend {
 public:
  virtual ~Backend() = default;
  /// The kind of buffer that its results go to.
  virtual const BufferType& buffer_type() const = 0;
  virtual bool supports_op(const Tensor& op) const = 0;
  virtual bool supports_buffer(const BufferType& type) const = 0;
  virtual bool offloads(const Tensor&) const { return false; }
  /// Sorts its part of a graph into the order in which it computes it.
  virtual void reorder(std::vector<Tensor*>&) const {}
  /// Names the tensors that its fused kernels keep alive within a part of the graph.
  virtual void add_dependencies(std::span<Tensor* const>, AllocDependencies&) const {}
};

/// From this number of tokens on, a GPU takes over ops whose weights are on the host
/// (op_offload_min_batch_size).
constexpr std::int64_t kOffloadMinBatch = 32;
std::int64_t batch_size(const Tensor& op);

/// A device that takes every op on its own buffers, adds nothing to sizes and keeps the order of
/// nodes: an RPC server (ggml-rpc.cpp) or OpenCL (ggml-opencl.cpp).
class PlainBackend : public Backend {
 public:
  PlainBackend(std::string name, Bytes alignment, int number)
      : own_(std::move(name), alignment, number) {}

  const BufferType& buffer_type() const override { return own_; }
  bool supports_op(const Tensor& op) const override;
  bool supports_buffer(const BufferType& type) const override { return &type == &own_; }

 private:
  BufferType own_;
};

/// The CPU (ggml-cpu.cpp). Its results may go to another buffer type, such as pinned memory.
class CpuBackend : public Backend {
 public:
  CpuBackend() : own_("CPU", 32, BufferType::kHost) {}

  const BufferType& buffer_type() const override { return own_; }
  bool supports_op(const Tensor& op) const override;
  bool supports_buffer(const BufferType& type) const override { return type.is_host(); }

 private:
  BufferType own_;
};

}  // namespace memtape::ggml
