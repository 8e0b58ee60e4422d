// SPDX-License-Identifier: Apache-2.0
#include "mesh/gpu_catalog.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "mesh/gpu_facts.h"
#include "mesh/gpu_names.h"

namespace memtape {
namespace {

struct Figure {
  Bytes bytes = 0;
  Certainty certainty = Certainty::unknown;
  std::string source;
};

/// CUDA's total as some device printed it. 0.01 GiB is rounded to the nearest, so the least value
/// is half a step below.
Figure printed_total(const GpuFacts& gpu) {
  if (gpu.visible_bytes > 0)
    return {gpu.visible_bytes, Certainty::exact, std::string(gpu.visible_source)};
  if (gpu.visible_mib > 0)
    return {gpu.visible_mib << 20, Certainty::rounded,
            gpu.visible_source.empty() ? "torch device properties, to the MiB"
                                       : std::string(gpu.visible_source)};
  if (gpu.visible_centi_gib > 0)
    return {(Bytes{gpu.visible_centi_gib} * 2 - 1) * (1_GiB / 8) / 25, Certainty::rounded,
            "CUDA's total as printed, to 0.01 GiB"};
  return {};
}

/// The GPU that tells best how much the driver keeps of `gpu`: both totals known, of the same
/// architecture if there is one, then of the nearest nvidia-smi total.
const GpuFacts* reserve_witness(const GpuFacts& gpu, std::int64_t reported_mib) {
  const GpuFacts* best = nullptr;
  const auto distance = [&](const GpuFacts& other) {
    return std::pair(other.architecture != gpu.architecture,
                     std::abs(other.reported_mib - reported_mib));
  };
  for (const GpuFacts& other : data::gpus()) {
    if (other.vendor != gpu.vendor || other.reported_mib == 0 || printed_total(other).bytes == 0)
      continue;
    if (best == nullptr || distance(other) < distance(*best)) best = &other;
  }
  return best;
}

/// Where nobody printed CUDA's total: nvidia-smi's (or the size on the box) less the reserve of a
/// GPU where both are known.
Figure estimated_total(const GpuFacts& gpu) {
  const std::int64_t reported_mib =
      gpu.reported_mib > 0 ? gpu.reported_mib : std::int64_t{gpu.marketing_gb} * 1024;
  if (reported_mib == 0) return {};
  const std::string_view whose =
      gpu.reported_mib > 0 ? "the total of nvidia-smi" : "the size it is sold as";
  const GpuFacts* witness = reserve_witness(gpu, reported_mib);
  if (witness == nullptr)
    return {reported_mib << 20, Certainty::estimated,
            fmt::format("{} MiB, {}", reported_mib, whose)};
  const Bytes reserve =
      std::max<Bytes>((witness->reported_mib << 20) - printed_total(*witness).bytes, 0);
  return {(reported_mib << 20) - reserve, Certainty::estimated,
          fmt::format("{} MiB, {}, less the {} MiB the driver keeps of a {}", reported_mib, whose,
                      reserve >> 20, witness->id)};
}

/// The context of a GPU nobody measured: the largest that was measured. It grows with what the
/// driver and PyTorch load, so
/// `--context-bytes` is there for those who know theirs.
Figure context(const GpuFacts& gpu) {
  if (gpu.capability_major == 0) return {};
  if (gpu.context_mib > 0)
    return {gpu.context_mib << 20, Certainty::rounded, std::string(gpu.context_source)};
  const auto all = data::gpus();
  const auto largest = std::max_element(
      all.begin(), all.end(),
      [](const GpuFacts& a, const GpuFacts& b) { return a.context_mib < b.context_mib; });
  return {largest->context_mib << 20, Certainty::estimated,
          fmt::format("not measured: that of a {}, the largest measured", largest->id)};
}

Gpu resolved(const GpuFacts& facts) {
  Figure total = printed_total(facts);
  if (total.bytes == 0) total = estimated_total(facts);
  Figure outside = context(facts);
  return {.id = facts.id,
          .name = facts.name,
          .vendor = facts.vendor,
          .architecture = facts.architecture,
          .capability_major = facts.capability_major,
          .capability_minor = facts.capability_minor,
          .sm_count = facts.sm_count,
          .total_bytes = total.bytes,
          .total_certainty = total.certainty,
          .total_source = std::move(total.source),
          .context_bytes = outside.bytes,
          .context_certainty = outside.certainty,
          .context_source = std::move(outside.source),
          .notes = facts.notes};
}

}  // namespace

std::vector<Gpu> gpu_catalog() {
  std::vector<Gpu> all;
  for (const GpuFacts& facts : data::gpus()) all.push_back(resolved(facts));
  return all;
}

Result<Gpu> find_gpu(std::string_view name, std::string_view where) {
  if (const GpuFacts* facts = gpu_named(name)) return resolved(*facts);
  return bad_input(fmt::format("unknown GPU '{}'", name.substr(0, 100)), std::string(where),
                   suggestion_for_gpu(name));
}

std::string_view name(Certainty certainty) {
  switch (certainty) {
    case Certainty::exact: return "exact";
    case Certainty::rounded: return "rounded";
    case Certainty::estimated: return "estimated";
    case Certainty::unknown: return "unknown";
  }
  return "?";
}

}  // namespace memtape
