// SPDX-License-Identifier: Apache-2.0
// Placement: to which device each layer belongs and to which buffer each weight goes
// (llama-model.cpp, load_tensors; llama-model-loader.cpp, create_tensor). The last layers go to the
// GPUs, the output counts as one more layer, and the token embeddings stay on the host.
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

  /// The backend of a layer. The output counts as the layer after the last one.
  int layer(std::int64_t il) const { return layers_[static_cast<std::size_t>(il)]; }
  bool fully_offloaded() const { return fully_offloaded_; }
  bool pipelined() const;
  /// The buffer of a weight. It is an error if an override names no known buffer.
  Result<const ggml::BufferType*> buffer_of(const Weight& weight) const;
  /// Whether all GPUs have rows of a weight that lies on one, if that one gets some.
  bool splits(const Weight& weight) const;

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
