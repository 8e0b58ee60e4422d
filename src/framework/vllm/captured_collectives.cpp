// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/captured_collectives.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace memtape::vllm {
namespace {

/// CUDA 12: 183 to 241 KiB for a sum, on A100, A30 and T4 (memory before and after of vLLM PR 2192, of
/// 35 graphs with two sums a layer); 489 on four RTX 4090 with a driver of CUDA 12.2 (#7553), of
/// which drivers of CUDA 12.4 and later keep less than a third (#5517). CUDA 13: about 32, on two and
/// four RTX 3090 (club-3090 #44, #91, #104, by the estimates in their logs).
struct SumBytes {
  Bytes low = 0, usual = 0, high = 0;
};
constexpr SumBytes kSumOfCuda12{0, 200_KiB, 512_KiB}, kSumOfCuda13{16_KiB, 32_KiB, 64_KiB};

constexpr std::array kRanksOfOwnKernel{2, 4, 6, 8};  // CustomAllreduce._SUPPORTED_WORLD_SIZES

/// The driver lets no two GeForce cards read each other's memory over PCIe.
bool reads_over_pcie(const DeviceFacts& device) {
  return device.name.find("GeForce") == std::string::npos;
}

}  // namespace

std::int64_t captured_sums(const Tape& tape, std::size_t from) {
  std::int64_t count = 0;
  for (std::size_t i = from; i < tape.events.size(); ++i)
    if (tape.events[i].kind == EventKind::alloc &&
        std::string_view(tape.why[tape.events[i].block].op) == "all_reduce")
      ++count;
  return count;
}

bool sums_with_nccl(const Settings& s) {
  const int ranks = s.parallel.tp;
  if (ranks == 1) return false;
  if (!s.parallel.sums_with_own_kernel) return true;
  if (std::ranges::find(kRanksOfOwnKernel, ranks) == kRanksOfOwnKernel.end()) return true;
  if (ranks <= s.device.linked_gpus) return false;
  return ranks > 2 || !reads_over_pcie(s.device);
}

Executables sums_of_nccl(std::int64_t sums, bool of_cuda_13, const Settings& s) {
  if (s.device.given_outside || !sums_with_nccl(s)) return {};
  const SumBytes each = of_cuda_13 ? kSumOfCuda13 : kSumOfCuda12;
  return {sums * each.usual, {sums * each.low, sums * each.high}};
}

}  // namespace memtape::vllm
