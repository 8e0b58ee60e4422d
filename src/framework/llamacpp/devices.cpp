// SPDX-License-Identifier: Apache-2.0
#include "framework/llamacpp/devices.h"

namespace memtape::llamacpp {

Devices::Devices(int gpus, int capability) {
  for (int i = 0; i < gpus; ++i) {
    gpus_.push_back(std::make_unique<ggml::CudaBackend>(ggml::CudaDevice{i, capability}));
    backends_.push_back(gpus_.back().get());
    buffers_.push_back(&gpus_.back()->buffer_type());
  }
  backends_.push_back(&cpu_);
  buffers_.push_back(gpus > 0 ? &pinned_ : &cpu_.buffer_type());
}

}  // namespace memtape::llamacpp
