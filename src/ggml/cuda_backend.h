// SPDX-License-Identifier: Apache-2.0
// A CUDA device as ggml's scheduler sees it (ggml-cuda.cu, fattn.cu): the ops it supports, the
// padded sizes of quantized rows, the half-precision copies of flash attention, and what fused
// kernels keep.
#pragma once

#include <string_view>

#include "ggml/backend.h"

namespace memtape::ggml {

/// The same code runs on AMD's GPUs. SYCL pads sizes in the same way, but has no flash attention.
enum class CudaKind : std::uint8_t { cuda, rocm, sycl };

struct CudaDevice {
  int number = 0;
  int capability = 890;  ///< as ggml counts it: 750 for 7.5
  CudaKind kind = CudaKind::cuda;
  /// It converts keys and values for flash attention in the graph's memory.
  bool converts_in_graph = true;
  bool keeps_fused_inputs = true;  ///< the fused kernels of experts keep their inputs
};
std::string_view prefix_of(CudaKind kind);

/// Which flash attention kernel runs, if any.
enum class AttentionKernel : std::uint8_t { none, vec, tile, mma };
AttentionKernel attention_kernel(const Tensor& op, const CudaDevice& device);

class CudaBufferType : public BufferType {
 public:
  explicit CudaBufferType(CudaDevice device);
  Bytes alloc_size(const Tensor& tensor) const override;

 private:
  CudaDevice device_;
};

class CudaBackend : public Backend {
 public:
  explicit CudaBackend(CudaDevice device) : device_(device), own_(device) {}

  const BufferType& buffer_type() const override { return own_; }
  bool supports_op(const Tensor& op) const override;
  bool supports_buffer(const BufferType& type) const override { return &type == &own_; }
  bool offloads(const Tensor& op) const override;
  void add_dependencies(std::span<Tensor* const> nodes, AllocDependencies& deps) const override;

 private:
  CudaDevice device_;
  CudaBufferType own_;
};

}  // namespace memtape::ggml
