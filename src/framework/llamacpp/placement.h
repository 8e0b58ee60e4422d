// SPDX-License-Identifier: Apache-2.0
// Placement: which device each layer belongs to and which buffer each weight goes to
// (llama-model.cpp, load_tensors; llama-model-loader.cpp, create_tensor). The last layers go to the
// GPUs, the output counts as one more, the token embeddings stay on the host.
#pragma once

#include <string>
#include <vector>

#include "framework/llamacpp/devices.h"
#include "framework/llamacpp/settings.h"
#include "framework/llamacpp/weights.h"

namespace memtape::llamacpp {

class Placement {
 public:
  Placement(const Hyperparameters& hp, const Settings& settings, const Devices& devices);

  /// The backend of a layer; the one after the last is the output.
  int layer(std::int64_t il) const { return layers_[static_cast<std::size_t>(il)]; }
  bool fully_offloaded() const { return fully_offloaded_; }
  bool pipelined() const;
  /// Where a weight goes; an override that names no buffer is an error.
  Result<const ggml::BufferType*> buffer_of(const Weight& weight) const;

 private:
  const ggml::BufferType* first_usable(const Weight& weight, int device) const;
  bool usable(const Weight& weight, int device, const ggml::BufferType& buffer) const;
  Result<const ggml::BufferType*> overridden(const Weight& weight) const;

  const Hyperparameters& hp_;
  const Settings& settings_;
  const Devices& devices_;
  std::vector<int> layers_;
  bool fully_offloaded_;
};

}  // namespace memtape::llamacpp
