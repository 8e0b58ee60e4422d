// SPDX-License-Identifier: Apache-2.0
// Server: a model that is loaded with certain settings: its weights, caches and compute buffers by
// buffer type, as llama.cpp's own pass without allocation adds them up
// (llama_get_memory_breakdown).
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/llamacpp/arch/architectures.h"
#include "framework/llamacpp/context_sizes.h"
#include "outcome/serve_answer.h"

namespace memtape::llamacpp {

struct Model {
  const Architecture* architecture = nullptr;
  Hyperparameters hp;
  std::vector<Weight> weights;
  std::vector<std::string> warnings;

  Bytes file_bytes() const;  ///< the sum over all tensors that are stored
  std::int64_t parameters() const;
};

struct ServerMemory {
  std::vector<BufferBytes> buffers;              ///< those of the GPUs first, then the host's
  std::shared_ptr<const Devices> devices;        ///< they own the buffers that `caches` names
  std::shared_ptr<const Devices> draft_devices;  ///< those of a draft model, with `draft_caches`
  CachePlan caches, draft_caches;
  std::vector<Bytes> page_rests;  ///< by GPU: what CUDA holds beyond `buffers`
  ContextSizes sizes;
  bool flash = false;  ///< whether flash attention runs
  int splits = 0;      ///< those of the prompt's graph
};

Result<ServerMemory> server_memory(const Model& model, const Settings& settings);

/// The same without compute buffers, for which no graph has to be built: the least that is needed.
Result<ServerMemory> weights_and_caches(const Model& model, const Settings& settings);

}  // namespace memtape::llamacpp
