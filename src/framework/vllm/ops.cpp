// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/ops.h"

#include "ghost/autograd/node.h"
#include "ghost/ops/copies.h"
#include "ghost/ops/matmul.h"

namespace memtape::vllm {
namespace {

/// PyTorch 2.13, which vLLM 0.32 runs on, gives data centre Blackwell the workspace of Hopper.
void use_cublas() {
  constexpr Bytes kLarge = Bytes{4096} * 8 * 1024;
  ghost::Session& s = ghost::session();
  Tensor& workspace = s.cublas_workspaces[0];
  if (s.device.major == 10 && !workspace.defined() && !s.skipping)
    workspace = ghost::empty({kLarge}, DType::uint8, Category::workspace);
  ghost::use_cublas();
}

}  // namespace

Tensor kernel_output(const char* name, const Dims& sizes, DType dtype) {
  const ghost::Op op(name, {});
  return ghost::empty(sizes, dtype);
}

Tensor unquantized_gemm(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const ghost::Op op(bias.defined() ? "addmm" : "mm", {});
  Tensor out = ghost::empty(x.sizes().leading().with(weight.size(0)), x.dtype());
  use_cublas();
  return out;
}

Tensor all_reduce(const Runtime& runtime, Tensor x) {
  if (runtime.tp() == 1) return x;
  return kernel_output("all_reduce", x.sizes(), x.dtype());
}

Tensor all_gather_last(const Runtime& runtime, const Tensor& x) {
  const int last = x.dim() - 1;
  // base_device_communicator.py: gathered along dimension 0, moved and reshaped, which copies.
  Tensor gathered = kernel_output("all_gather", {runtime.tp() * x.numel()}, x.dtype());
  return kernel_output("reshape", x.sizes().leading().with(runtime.tp() * x.size(last)), x.dtype());
}

}  // namespace memtape::vllm
