// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/graph_memory.h"

#include <algorithm>

#include "framework/vllm/captured_collectives.h"
#include "framework/vllm/graphs.h"

namespace memtape::vllm {
namespace {

/// Bytes of the driver for a kernel in a graph: what logs say beyond the pool, for each kernel that
/// is counted here. CUDA 13: Qwen3-4B with adapters 14.4 KiB (0.27.1), Qwen3-8B 14.4 (0.21.0, LMCache
/// #3430), Qwen3.5-35B-A3B on four ranks 14.1 (#50722). CUDA 12: from 4 KiB (Qwen3-0.6B, V0) to 27
/// (Qwen2-0.5B, 0.11.0), with 14 in the middle (tests/truth/serving_logs.jsonl).
struct KernelBytes {
  Bytes low = 0, usual = 0, high = 0;
};
constexpr KernelBytes kOfCuda12{4_KiB, 14_KiB, 27_KiB}, kOfCuda13{12_KiB, 14'700, 20_KiB};

/// The kernels of a graph, on average over those with adapters and without. A layer's kernels for
/// adapters are two, beside one tensor of their own; without adapters they are not captured.
std::int64_t kernels(std::int64_t counted, const CapturedGraphs& graphs, const Settings& s) {
  if (!s.lora) return counted;
  return captures_of_a_size(s) > 1 ? counted : counted + graphs.adapter_layers;
}

/// profile_cudagraph_memory. The first runner (v1/worker/gpu_model_runner.py) captures two graphs
/// of each kind and takes the others to be as the second; the second runner
/// (worker/gpu/cudagraph_utils.py) captures all pieces and two whole steps.
Bytes estimated(const CapturedGraphs& graphs, Bytes pool, Bytes piece, Bytes whole,
                const Settings& s) {
  static constexpr Bytes kLeast = 1_MiB;
  const auto others = [](std::int64_t count, Bytes each) {
    return std::max<std::int64_t>(0, count - 1) * std::max(each, kLeast);
  };
  const Bytes first_whole = graphs.whole > 0 ? whole : 0;
  if (s.runner == Runner::v2)
    return pool + graphs.pieces * piece + first_whole + others(graphs.whole, whole);
  const Bytes first = std::max(graphs.pieces > 0 ? piece : 0, first_whole);
  return pool + first + others(graphs.pieces, piece) + others(graphs.whole, whole);
}

}  // namespace

Executables executables_of(std::int64_t kernels, bool of_cuda_13, const DeviceFacts& device) {
  // Whoever says what lies outside the allocator says it of all that does.
  if (device.given_outside) return {};
  const KernelBytes each = of_cuda_13 ? kOfCuda13 : kOfCuda12;
  return {kernels * each.usual, {kernels * each.low, kernels * each.high}};
}

GraphMemory graph_memory(const Startup& startup, const StartupFigures& figures, const Settings& s) {
  const CapturedGraphs& graphs = startup.graphs;
  GraphMemory memory;
  memory.pool = figures.graph_pool;
  const std::int64_t piece = kernels(graphs.piece_kernels, graphs, s);
  const std::int64_t whole = kernels(graphs.whole_kernels, graphs, s);
  const bool of_cuda_13 = s.release.has(changes::kVllmRunsOnCuda13);
  const auto executables = [&](std::int64_t count, std::int64_t kernels_of_each) {
    return executables_of(count * kernels_of_each, of_cuda_13, s.device) +
           sums_of_nccl(count * graphs.sums, of_cuda_13, s);
  };
  memory.executables = executables(graphs.pieces, piece) + executables(graphs.whole, whole);
  if (s.estimate_cuda_graphs)
    memory.estimate =
        estimated(graphs, memory.pool, executables(1, piece).usual, executables(1, whole).usual, s);
  return memory;
}

}  // namespace memtape::vllm
