// SPDX-License-Identifier: Apache-2.0
#include "framework/llamacpp/projector.h"

#include <algorithm>

#include "framework/llamacpp/gguf_header.h"

namespace memtape::llamacpp {

bool is_projector(const SideModel& file) {
  return file.gguf && file.gguf->metadata.text("general.architecture") == "clip";
}

Result<std::optional<Projector>> projector_of(const ServeRequest& request,
                                              const Settings& settings) {
  const auto file = std::ranges::find_if(request.adapters, is_projector);
  const bool asked = request.options.has("mmproj");
  if (file == request.adapters.end()) {
    if (asked)
      return bad_input("the file is no projector", "--mmproj",
                       "what convert_hf_to_gguf --mmproj made");
    return std::optional<Projector>();
  }
  if (!asked) return bad_input("the file is a projector, no adapter", "--lora", "--mmproj");
  Settings first = settings;
  const bool offloaded = settings.gpus() > 0 && !request.options.has("no-mmproj-offload");
  first.device_numbers = offloaded ? std::vector{0} : std::vector<int>{};
  const Devices devices(first);
  const ggml::BufferType& buffer = devices.memory(0);
  Projector projector{.buffer = buffer.name(), .on_gpu = offloaded};
  for (const auto& [name, stored] : file->gguf->tensors)
    projector.weights += placed_bytes(buffer, stored.type, stored.ne);
  return std::optional(std::move(projector));
}

void add_projector_memory(ServerMemory& memory, const Projector& projector) {
  auto at = std::ranges::find(memory.buffers, projector.buffer, &BufferBytes::name);
  if (at == memory.buffers.end())
    at = memory.buffers.insert(memory.buffers.end(), BufferBytes{.name = projector.buffer});
  at->model += projector.weights;
}

}  // namespace memtape::llamacpp
