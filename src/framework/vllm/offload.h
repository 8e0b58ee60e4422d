// SPDX-License-Identifier: Apache-2.0
// Offloading (--cpu-offload-gb): weights of the first layers lie in pinned host memory, which
// kernels read over the bus (vllm/model_executor/models/utils.py, maybe_offload_to_cpu; since 0.17
// vllm/model_executor/offloader/uva.py). A layer is made on the GPU, and its parameters go in the
// order of their names, until as much as was asked for is in host memory; the last one may go
// beyond it. Embeddings and the head stay.
#pragma once

#include <string_view>
#include <vector>

#include "framework/vllm/runtime.h"

namespace memtape::vllm {

/// The layers made so far: those under `name` in the body of a model.
void offload_layers(const Place& body, std::string_view name);

/// While a module's weights are processed (device_loading_context): since 0.17 what takes the place
/// of an offloaded weight goes to host memory, too. Before, it stays on the GPU. SGLang's kernels
/// read no host memory: weights come to the GPU for that time, and for the time of their layer's
/// forward pass (srt/utils/offloader.py, OffloaderV1).
class ProcessedWeights {
 public:
  ProcessedWeights(Runtime& runtime, nn::ModuleNode& node);
  ~ProcessedWeights();
  ProcessedWeights(const ProcessedWeights&) = delete;
  ProcessedWeights& operator=(const ProcessedWeights&) = delete;

 private:
  nn::ModuleNode& node_;
  std::vector<std::string> offloaded_;  ///< the names of those that were
};

}  // namespace memtape::vllm
