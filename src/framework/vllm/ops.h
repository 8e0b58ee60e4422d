// SPDX-License-Identifier: Apache-2.0
// The ops that vLLM's layers consist of: kernels with an output and no other memory, products of
// cuBLAS, and collectives.
#pragma once

#include "framework/vllm/runtime.h"

namespace memtape::vllm {

/// The output of a kernel: torch.empty of these sizes, made by `name`.
Tensor kernel_output(const char* name, const Dims& sizes, DType dtype);

/// F.linear(x, weight, bias) of an unquantized weight. It takes the output and then, at its first
/// use on this stream, cuBLAS' workspace.
Tensor unquantized_gemm(const Tensor& x, const Tensor& weight, const Tensor& bias);

/// tensor_model_parallel_all_reduce, which works out of place (CudaCommunicator.all_reduce).
Tensor all_reduce(const Runtime& runtime, Tensor x);
/// tensor_model_parallel_all_gather along the last dimension.
Tensor all_gather_last(const Runtime& runtime, const Tensor& x);

inline std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
inline std::int64_t round_up(std::int64_t value, std::int64_t unit) {
  return ceil_div(value, unit) * unit;
}

/// A tensor on the device that lives as long as a scope.
inline Tensor scratch(const char* name, Bytes bytes) {
  return kernel_output(name, {bytes}, DType::uint8);
}

}  // namespace memtape::vllm
