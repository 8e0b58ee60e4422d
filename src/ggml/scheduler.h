// SPDX-License-Identifier: Apache-2.0
// Scheduler: which backend computes which node, where the graph is split, what is copied between
// backends, and what memory each backend's buffer needs for it all (ggml-backend.cpp,
// ggml_backend_sched_split_graph). The last backend is the CPU.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "ggml/backend.h"
#include "ggml/graph.h"

namespace memtape::ggml {

struct SchedulerSetup {
  std::span<const Backend* const> backends;
  std::span<const BufferType* const> buffers;  ///< where each one's results go
  bool parallel = false;                       ///< pipeline parallelism: copies of all inputs
  bool copies_unused = false;                  ///< those that no node reads, too
  bool op_offload = true;                      ///< large batches on host weights run on a GPU
};

/// A node that must run on one backend, by its index.
using Pins = std::vector<std::pair<Tensor*, int>>;

struct Schedule {
  std::vector<Bytes> bytes;     ///< per backend
  std::vector<int> backend_of;  ///< by tensor id; -1 where nothing was decided
  int splits = 0;
};

/// Adds the copies to the graph.
Schedule schedule(Graph& graph, const SchedulerSetup& setup, const Pins& pins);

}  // namespace memtape::ggml
