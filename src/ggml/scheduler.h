// SPDX-License-Identifier: Apache-2.0
// Scheduler: which backend computes which node, where the graph is split, what is copied between
// backends, and how much memory the buffer of each backend needs (ggml-backend.cpp,
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
  std::span<const BufferType* const> buffers;  ///< for each backend, where its results go
  bool parallel = false;                       ///< pipeline parallelism, which copies all inputs
  bool copies_unused = false;                  ///< inputs that no node reads are copied, too
  bool op_offload = true;  ///< a GPU runs large batches even if the weights are on the host
};

/// A node that must run on one backend, which is given by its index.
using Pins = std::vector<std::pair<Tensor*, int>>;

struct Schedule {
  std::vector<Bytes> bytes;     ///< for each backend
  std::vector<int> backend_of;  ///< for each tensor id; -1 if nothing was decided
  int splits = 0;
};

/// Decides for the whole graph and adds the copies to it.
Schedule schedule(Graph& graph, const SchedulerSetup& setup, const Pins& pins);

}  // namespace memtape::ggml
