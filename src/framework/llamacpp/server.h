// SPDX-License-Identifier: Apache-2.0
// Server: a model loaded with settings: its weights, caches and compute buffers per buffer type, as
// llama.cpp's own no-alloc pass adds them up (llama_get_memory_breakdown).
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/llamacpp/arch/architectures.h"
#include "outcome/serve_answer.h"

namespace memtape::llamacpp {

struct Model {
  const Architecture* architecture = nullptr;
  Hyperparameters hp;
  std::vector<Weight> weights;
  std::vector<std::string> warnings;

  Bytes file_bytes() const;  ///< of all tensors that are stored
  std::int64_t parameters() const;
};

struct ServerMemory {
  std::vector<BufferBytes> buffers;              ///< GPUs first, then the host's
  std::shared_ptr<const Devices> devices;        ///< whose buffers `caches` names
  std::shared_ptr<const Devices> draft_devices;  ///< those of a draft model, with `draft_caches`
  CachePlan caches, draft_caches;
  ContextSizes sizes;
  bool flash = false;  ///< whether attention is fused
  int splits = 0;      ///< of the prompt's graph
};

Result<ServerMemory> server_memory(const Model& model, const Settings& settings);

}  // namespace memtape::llamacpp
