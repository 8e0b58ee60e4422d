// SPDX-License-Identifier: Apache-2.0
// Devices: the backends over which a model is spread, in the scheduler's order: first the GPUs,
// then the CPU, whose results go to memory that is pinned for the first GPU (llama-context.cpp).
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "framework/llamacpp/settings.h"
#include "ggml/backend.h"

namespace memtape::llamacpp {

class Devices {
 public:
  explicit Devices(const Settings& settings);
  Devices(const Devices&) = delete;
  Devices& operator=(const Devices&) = delete;

  int gpus() const { return static_cast<int>(gpus_.size()); }
  int cpu() const { return gpus(); }
  const std::vector<const ggml::Backend*>& backends() const { return backends_; }
  const std::vector<const ggml::BufferType*>& buffers() const { return buffers_; }
  const ggml::Backend& backend(int b) const { return *backends_[static_cast<std::size_t>(b)]; }
  /// The memory of the backend itself.
  const ggml::BufferType& memory(int b) const { return backend(b).buffer_type(); }
  /// Whether there is memory that is pinned for the first GPU. Metal and others have none.
  bool has_pinned() const { return pinned_ && gpus() > 0; }
  const ggml::BufferType& pinned() const { return *pinned_; }

 private:
  std::vector<std::unique_ptr<ggml::Backend>> gpus_;
  ggml::CpuBackend cpu_;
  std::optional<ggml::BufferType> pinned_;
  std::vector<const ggml::Backend*> backends_;
  std::vector<const ggml::BufferType*> buffers_;
};

/// The bytes that a tensor takes in a buffer. A tensor without columns takes nothing.
Bytes placed_bytes(const ggml::BufferType& buffer, ggml::Type type, const ggml::Extents& ne);

}  // namespace memtape::llamacpp
