// SPDX-License-Identifier: Apache-2.0
#include "framework/sglang/versions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>

namespace memtape::sglang {
namespace {

constexpr double kMiBPerGiB = 1024;

/// Devices with less memory than this: their chunk, and their largest graph with few ranks and
/// from four on.
struct Tier {
  double below_mib = 0;
  std::int64_t chunk = 0, batch = 0, batch_of_many = 0;
};

constexpr double kNoLimit = 1e12;
constexpr std::array kCurrentTiers{
    Tier{20 * kMiBPerGiB, 2048, 8, 8},      Tier{35 * kMiBPerGiB, 4096, 48, 160},
    Tier{60 * kMiBPerGiB, 4096, 32, 160},   Tier{90 * kMiBPerGiB, 8192, 256, 512},
    Tier{160 * kMiBPerGiB, 8192, 256, 512}, Tier{kNoLimit, 16384, 512, 512},
};
constexpr std::array kPrefillGraphTiers{
    Tier{20 * kMiBPerGiB, 2048, 8, 8},      Tier{35 * kMiBPerGiB, 2048, 24, 80},
    Tier{60 * kMiBPerGiB, 4096, 32, 160},   Tier{90 * kMiBPerGiB, 8192, 256, 512},
    Tier{160 * kMiBPerGiB, 8192, 256, 512}, Tier{kNoLimit, 16384, 512, 512},
};
constexpr std::array kUseTiers{
    Tier{20 * kMiBPerGiB, 2048, 8, 8},      Tier{35 * kMiBPerGiB, 2048, 16, 80},
    Tier{60 * kMiBPerGiB, 4096, 32, 160},   Tier{90 * kMiBPerGiB, 8192, 256, 512},
    Tier{160 * kMiBPerGiB, 8192, 256, 512}, Tier{kNoLimit, 16384, 512, 512},
};
constexpr std::array kDeviceTiers{
    Tier{35 * kMiBPerGiB, 2048, 8, 80},
    Tier{90 * kMiBPerGiB, 8192, 160, 160},
    Tier{160 * kMiBPerGiB, 8192, 256, 256},
    Tier{kNoLimit, 16384, 512, 512},
};
constexpr std::array kTableTiers{
    Tier{25'000, 2048, 8, 80},
    Tier{kNoLimit, 8192, 160, 160},
};

std::span<const Tier> tiers_of(const Release& release) {
  if (release.has(changes::kSglangFillsSmallDevices)) return kCurrentTiers;
  if (release.has(changes::kSglangReservesForPrefillGraphs)) return kPrefillGraphTiers;
  if (release.has(changes::kSglangReservesByUse)) return kUseTiers;
  if (release.has(changes::kSglangReservesByDevice)) return kDeviceTiers;
  return kTableTiers;
}

/// mem_fraction_static by the number of tensor ranks.
double share_of_table(int tp) {
  if (tp >= 16) return 0.79;
  if (tp >= 8) return 0.81;
  if (tp >= 4) return 0.85;
  return tp >= 2 ? 0.87 : 0.88;
}

double reserve_by_device(const DefaultsInput& in) {
  const double ranks = in.tp * in.pp, groups = in.attention_dp > 1 ? 4 * kMiBPerGiB : 0;
  if (in.gpu_mib < 35 * kMiBPerGiB) return (2.8 + ranks / 10) * kMiBPerGiB + groups;
  if (in.gpu_mib < 90 * kMiBPerGiB) return (9.5 + ranks / 2) * kMiBPerGiB + groups;
  if (in.gpu_mib < 160 * kMiBPerGiB) return (12 + ranks / 2) * kMiBPerGiB + groups;
  return 32 * kMiBPerGiB + groups;
}

/// Sizes of graphs, `step` apart.
struct Run {
  std::int64_t first, last, step;
};
constexpr std::int64_t kNoEnd = std::numeric_limits<std::int64_t>::max();

struct Sizes {
  std::int64_t count = 0, sum = 0;
};

/// The sizes up to `most`.
Sizes sizes_up_to(std::int64_t most, std::span<const Run> runs) {
  Sizes sizes;
  for (const Run& run : runs) {
    const std::int64_t last = std::min(run.last, most);
    if (last < run.first) continue;
    const std::int64_t steps = (last - run.first) / run.step;
    sizes.count += steps + 1;
    sizes.sum += (steps + 1) * run.first + run.step * steps * (steps + 1) / 2;
  }
  return sizes;
}

/// generate_prefill_cuda_graph_batch_sizes.
std::int64_t prefill_graphs(std::int64_t most) {
  constexpr std::array kRuns{Run{4, 32, 4},      Run{48, 256, 16},     Run{288, 512, 32},
                             Run{576, 1024, 64}, Run{1280, 4096, 256}, Run{4608, kNoEnd, 512}};
  return sizes_up_to(most, kRuns).count;
}

/// generate_decode_cuda_graph_batch_sizes; before 0.5.3 get_batch_sizes_to_capture of
/// model_executor/cuda_graph_runner.py.
Sizes decode_graphs(const Release& release, std::int64_t most) {
  constexpr std::array kRuns{Run{1, 2, 1}, Run{4, 12, 4}, Run{16, 256, 8}, Run{272, 496, 16},
                             Run{512, kNoEnd, 32}};
  constexpr std::array kOldRuns{Run{1, 2, 1}, Run{4, 8, 4}, Run{16, 256, 8}, Run{272, kNoEnd, 16}};
  if (release.has(changes::kSglangReservesByUse)) return sizes_up_to(most, kRuns);
  return sizes_up_to(most, kOldRuns);
}

/// What the graphs of prefill are taken to need, in MiB.
double reserve_for_prefill_graphs(const Release& release, const DefaultsInput& in,
                                  std::int64_t chunk) {
  constexpr double kPerGraph = 8, kOfMla = 1.5 * kMiBPerGiB;
  if (!release.has(changes::kSglangReservesForPrefillGraphs) || !in.prefill_graphs) return 0;
  if (in.mla) return kOfMla;
  const std::int64_t most = std::min(chunk, in.prefill_graph_max.value_or(chunk));
  return static_cast<double>(prefill_graphs(most)) * kPerGraph;
}

/// The reserve in MiB for activations, graphs and what ranks need to talk.
double reserve_by_use(const Release& release, const DefaultsInput& in, const Defaults& chosen) {
  constexpr double kMetadata = 512, kPerToken = 1.5, kPerSequence = 2;
  constexpr double kLeastTokens = 2048, kLargeDevice = 60 * kMiBPerGiB;
  const auto tokens = static_cast<double>(
      chosen.chunked_prefill_size > 0 ? chosen.chunked_prefill_size : in.max_prefill_tokens);
  double reserve = kMetadata + std::max(tokens, kLeastTokens) * kPerToken;
  reserve += in.tp * in.pp / 8.0 * kMiBPerGiB;
  if (in.graphs || !release.has(changes::kSglangFillsSmallDevices))
    reserve += static_cast<double>(chosen.graph_max_batch) * kPerSequence;
  reserve += chosen.prefill_graph_mib;
  // Padding, and what large graphs hold beyond it.
  if (in.attention_dp > 1) {
    constexpr double kPerGroup = 3, kPerGroupOfLarge = 4.5;
    constexpr std::int64_t kLargeBatch = 300;
    const bool is_large = chosen.graph_max_batch > kLargeBatch;
    reserve += static_cast<double>(chosen.graph_max_batch * in.attention_dp) *
               (is_large ? kPerGroupOfLarge : kPerGroup);
  }
  return in.gpu_mib > kLargeDevice ? std::max(reserve, 10 * kMiBPerGiB) : reserve;
}

double rounded(double share) { return std::round(share * 1000) / 1000; }

}  // namespace

Defaults defaults_of(const Release& release, const DefaultsInput& in) {
  Defaults chosen;
  for (const Tier& tier : tiers_of(release)) {
    if (in.gpu_mib >= tier.below_mib) continue;
    chosen.chunked_prefill_size = in.chunked_prefill_size.value_or(tier.chunk);
    chosen.graph_max_batch =
        in.graph_max_batch.value_or(in.tp < 4 ? tier.batch : tier.batch_of_many);
    break;
  }
  if (release.has(changes::kSglangFillsSmallDevices) && !in.graph_max_batch &&
      in.max_running_requests)
    chosen.graph_max_batch = std::min(chosen.graph_max_batch, *in.max_running_requests);
  const Sizes decoded = in.graphs ? decode_graphs(release, chosen.graph_max_batch) : Sizes{};
  chosen.decode_graphs = decoded.count;
  chosen.decode_rows = decoded.sum;
  chosen.prefill_graph_mib = reserve_for_prefill_graphs(release, in, chosen.chunked_prefill_size);
  if (!release.has(changes::kSglangReservesByDevice)) {
    chosen.mem_fraction_static = share_of_table(in.tp);
    return chosen;
  }
  const double reserve = release.has(changes::kSglangReservesByUse)
                             ? reserve_by_use(release, in, chosen)
                             : reserve_by_device(in);
  chosen.mem_fraction_static = rounded((in.gpu_mib - reserve) / in.gpu_mib);
  return chosen;
}

}  // namespace memtape::sglang
