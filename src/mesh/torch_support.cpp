// SPDX-License-Identifier: Apache-2.0
#include "mesh/torch_support.h"

#include <fmt/format.h>

namespace memtape {

Result<void> check_torch_device(const Gpu& gpu, std::string_view who) {
  if (gpu.runs_cuda() || runs_rocm(gpu)) return {};
  return unsupported(
      fmt::format("{} is not modelled on {}: PyTorch has another allocator there", who, gpu.name),
      "--gpu", "a GPU of NVIDIA's or AMD's (memtape gpus lists them)");
}

}  // namespace memtape
