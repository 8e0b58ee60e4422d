// SPDX-License-Identifier: Apache-2.0
#include "mesh/gpu_catalog.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include <fmt/format.h>

#include "base/text.h"
#include "mesh/gpu_facts.h"

namespace memtape {
namespace {

struct Figure {
  Bytes bytes = 0;
  Certainty certainty = Certainty::unknown;
  std::string source;
};

bool same(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

/// CUDA's total as some device printed it. 0.01 GiB is rounded to the nearest, so the least value
/// is half a step below.
Figure printed_total(const GpuFacts& gpu) {
  if (gpu.visible_bytes > 0)
    return {gpu.visible_bytes, Certainty::exact, std::string(gpu.visible_source)};
  if (gpu.visible_mib > 0)
    return {gpu.visible_mib << 20, Certainty::rounded, "torch device properties, to the MiB"};
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

/// A name as people type it: small letters and digits in words, without the makers' names.
/// "NVIDIA GeForce RTX4090_D" is "rtx-4090-d".
std::string plain(std::string_view name) {
  std::string words;
  char last = '-';
  for (const char c : name) {
    const auto u = static_cast<unsigned char>(c);
    const char next = std::isalnum(u) != 0 ? static_cast<char>(std::tolower(u)) : '-';
    if (next == '-' && last == '-') continue;
    words += next;
    last = next;
  }
  for (const std::string_view maker :
       {"nvidia-", "geforce-", "amd-", "radeon-", "instinct-", "intel-", "tesla-"})
    if (words.starts_with(maker)) words.erase(0, maker.size());
  for (const std::string_view series : {"rtx", "gtx", "rx", "tpu"})
    if (words.starts_with(series) && words.size() > series.size() && words[series.size()] != '-')
      words.insert(series.size(), 1, '-');
  while (words.ends_with('-')) words.pop_back();
  return words;
}

/// Whether `id` is `name`, with its series ("rtx-") left out or not.
bool is_named(std::string_view id, std::string_view name) {
  if (id == name) return true;
  if (name.empty() || !id.ends_with(name)) return false;
  const std::string_view series = id.substr(0, id.size() - name.size());
  return series == "rtx-" || series == "rx-" || series == "apple-" || series == "arc-" ||
         series == "tpu-";
}

/// The ids that go on where `name` ends: "h100" is the beginning of three.
std::vector<std::string_view> ids_that_begin(std::string_view typed) {
  const std::string name = plain(typed);
  std::vector<std::string_view> ids;
  for (const GpuFacts& gpu : data::gpus()) {
    const std::size_t at = gpu.id.find(name + "-");
    if (!name.empty() && at != std::string_view::npos &&
        (at == 0 || is_named(gpu.id.substr(0, at + name.size()), name)))
      ids.push_back(gpu.id);
  }
  return ids;
}

/// A laptop's GPU shares its name with a desktop's and is another chip, mostly with less memory.
std::string suggestion_for_laptop(std::string_view name) {
  const std::string plain_name = plain(name);
  for (const std::string_view end : {"-laptop", "-laptop-gpu", "-mobile", "-max-q"}) {
    if (!plain_name.ends_with(end)) continue;
    const std::string desktop = plain_name.substr(0, plain_name.size() - end.size());
    for (const GpuFacts& gpu : data::gpus())
      if (is_named(gpu.id, desktop))
        return fmt::format(
            "laptops' GPUs are not in the catalog: --gpu {} --gpu-memory-bytes with the total that "
            "nvidia-smi shows, like 8GiB",
            gpu.id);
    return "laptops' GPUs are not in the catalog: the desktop's name, and --gpu-memory-bytes with "
           "the total that nvidia-smi shows";
  }
  return {};
}

std::string suggestion_for(std::string_view name) {
  std::vector<std::string_view> ids = ids_that_begin(name);
  if (!ids.empty()) return fmt::format("which one: {}", fmt::join(ids, ", "));
  if (std::string laptop = suggestion_for_laptop(name); !laptop.empty()) return laptop;
  for (const GpuFacts& gpu : data::gpus()) ids.push_back(gpu.id);
  const std::string_view near = nearest(plain(name), ids);
  return near.empty() ? "see memtape gpus" : fmt::format("did you mean {}?", near);
}

}  // namespace

std::vector<Gpu> gpu_catalog() {
  std::vector<Gpu> all;
  for (const GpuFacts& facts : data::gpus()) all.push_back(resolved(facts));
  return all;
}

Result<Gpu> find_gpu(std::string_view name, std::string_view where) {
  const std::vector<std::string_view> begin = ids_that_begin(name);
  const std::string_view id = begin.size() == 1 ? begin.front() : std::string_view();
  for (const GpuFacts& facts : data::gpus())
    if (same(facts.id, name) || same(facts.name, name)) return resolved(facts);
  const std::string typed = plain(name);
  for (const GpuFacts& facts : data::gpus())
    if (facts.id == id || is_named(facts.id, typed)) return resolved(facts);
  return bad_input(fmt::format("unknown GPU '{}'", name.substr(0, 100)), std::string(where),
                   suggestion_for(name));
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
