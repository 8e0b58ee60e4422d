// SPDX-License-Identifier: Apache-2.0
#include "framework/llamacpp/devices.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "ggml/cuda_backend.h"
#include "ggml/metal_backend.h"
#include "ggml/vulkan_backend.h"

namespace memtape::llamacpp {
namespace {

constexpr Bytes kPlainAlignment = 128;

ggml::CudaKind cuda_kind(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::rocm: return ggml::CudaKind::rocm;
    case DeviceKind::sycl: return ggml::CudaKind::sycl;
    default: return ggml::CudaKind::cuda;
  }
}

std::unique_ptr<ggml::Backend> backend_for(const Settings& s, int number) {
  if (s.device_kind == DeviceKind::vulkan)
    return std::make_unique<ggml::VulkanBackend>(
        ggml::VulkanDevice{.number = number,
                           .sorts = s.build.sorts_for_vulkan(),
                           .vector_attention = s.build.attends_on_vulkan()});
  if (s.device_kind == DeviceKind::opencl || s.device_kind == DeviceKind::rpc)
    return std::make_unique<ggml::PlainBackend>(
        fmt::format("{}{}", prefix_of(s.device_kind), number), kPlainAlignment, number);
  if (s.device_kind == DeviceKind::metal)
    return std::make_unique<ggml::MetalBackend>(
        ggml::MetalDevice{.number = number,
                          .sorts = s.build.sorts_for_metal(),
                          .keeps_scratch = s.build.keeps_metal_scratch(),
                          .pads_keys = s.build.pads_metal_keys()});
  return std::make_unique<ggml::CudaBackend>(
      ggml::CudaDevice{.number = number,
                       .capability = s.capability,
                       .kind = cuda_kind(s.device_kind),
                       .converts_in_graph = s.build.converts_in_graph(),
                       .keeps_fused_inputs = s.build.keeps_fused_inputs()});
}

}  // namespace

std::string_view prefix_of(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::vulkan: return "Vulkan";
    case DeviceKind::metal: return "MTL";
    case DeviceKind::opencl: return "OpenCL";
    case DeviceKind::rpc: return "RPC";
    default: return ggml::prefix_of(cuda_kind(kind));
  }
}

Devices::Devices(const Settings& settings) {
  constexpr std::array kUnpinned{DeviceKind::metal, DeviceKind::opencl, DeviceKind::rpc};
  if (std::ranges::find(kUnpinned, settings.device_kind) == kUnpinned.end())
    pinned_.emplace(fmt::format("{}_Host", prefix_of(settings.device_kind)), 32,
                    ggml::BufferType::kHost);
  for (const int number : settings.device_numbers) {
    gpus_.push_back(backend_for(settings, number));
    backends_.push_back(gpus_.back().get());
    buffers_.push_back(&gpus_.back()->buffer_type());
  }
  backends_.push_back(&cpu_);
  buffers_.push_back(has_pinned() ? &*pinned_ : &cpu_.buffer_type());
}

Bytes placed_bytes(const ggml::BufferType& buffer, ggml::Type type, const ggml::Extents& ne) {
  if (ne[0] <= 0) return 0;
  ggml::Tensor t;
  t.type = type;
  t.ne = ne;
  ggml::set_strides(t);
  return round_up(buffer.alloc_size(t), buffer.alignment());
}

}  // namespace memtape::llamacpp
