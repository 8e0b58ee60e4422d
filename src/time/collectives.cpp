// SPDX-License-Identifier: Apache-2.0
#include "time/collectives.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "time/kernel_rows.h"

namespace memtape::time {
namespace {

constexpr double kMicrosecond = 1e-6;
constexpr std::array<std::string_view, 5> kNames = {"all_reduce", "all_gather", "reduce_scatter",
                                                    "alltoall", "custom_all_reduce"};
constexpr std::size_t kServed = 4;
/// Of a network card's rate, what NCCL moves of it: headers, pacing and links that are shared.
constexpr double kShareOfNetwork = 0.85;
/// And of NVLink's or PCIe's where no measurement says it.
constexpr double kShareOfLink = 0.75;
/// A hop of a ring over the network.
constexpr double kHop = 6e-6;

/// How often a buffer of one byte crosses a rank's link.
double crossings(Message message, double ranks) {
  const double once = (ranks - 1) / ranks;
  return message == Message::all_reduce ? 2 * once : once;
}

}  // namespace

Group Group::strided(std::int64_t ranks, std::int64_t stride, std::int64_t domain) {
  const std::int64_t near = std::clamp<std::int64_t>(domain / std::max<std::int64_t>(stride, 1), 1,
                                                     std::max<std::int64_t>(ranks, 1));
  return {ranks, near};
}

Collectives::Collectives(const Machine& machine) : machine_(machine) {
  std::string_view witness;
  for (const KernelRow& r : data::kernel_rows())
    if (r.kind == "message" && r.gpu == machine.gpu) witness = r.gpu;
  if (witness.empty() && !machine.domain_is_pcie)
    witness = machine.gpu.starts_with("a")   ? "a100-80gb"
              : machine.gpu.starts_with("b") ? "b200-180gb"
                                             : "h100-80gb";
  if (witness.empty()) return;
  for (const KernelRow& r : data::kernel_rows())
    for (std::size_t message = 0; message < kNames.size(); ++message)
      for (std::size_t i = 0; i < 3; ++i)
        if (r.kind == "message" && r.gpu == witness &&
            r.words == fmt::format("{} {}", kNames[message], 2 << i))
          rows_[message][i] = data::kernel_figures().subspan(r.first, r.count);
  const double link = speeds_of(witness).link_gb_s * 1e9;
  if (link > 0 && machine.domain_bytes_per_second > 0)
    scale_ = link / machine.domain_bytes_per_second;
}

Collectives::Measured Collectives::measured(std::size_t message, double bytes,
                                            std::int64_t ranks) const {
  std::size_t i = ranks <= 2 ? 0 : ranks <= 4 ? 1 : 2;
  while (i > 0 && rows_[message][i].empty()) --i;
  const std::span<const float> times = rows_[message][i];
  if (times.empty()) return {};
  const double known = static_cast<double>(2 << i);
  const double log = std::log2(std::max(bytes, 1024.0) / 1024.0) / 2;  // powers of four from 1 KiB
  const auto last = static_cast<double>(times.size() - 1);
  if (log >= last)
    return {times.back() * kMicrosecond * std::exp2(2 * (log - last)) * scale_, known};
  const auto at = static_cast<std::size_t>(log);
  const double part = log - static_cast<double>(at);
  const double time = times[at] + (times[at + 1] - times[at]) * (std::exp2(2 * part) - 1) / 3;
  return {time * kMicrosecond * (at < 3 ? 1 : scale_), known};
}

double Collectives::near(Message message, double bytes, std::int64_t ranks) const {
  const Measured found = measured(static_cast<std::size_t>(message), bytes, ranks);
  const auto n = static_cast<double>(ranks);
  if (found.seconds < 0)
    return crossings(message, n) * bytes / (machine_.domain_bytes_per_second * kShareOfLink) +
           kHop * std::log2(n);
  // More or fewer ranks than were measured: the same bandwidth, and more hops.
  return found.seconds * crossings(message, n) / crossings(message, found.ranks) +
         (n > found.ranks ? kMicrosecond * (n - found.ranks) * 0.5 : 0);
}

double Collectives::far(Message message, double bytes, Group group) const {
  const auto n = static_cast<double>(group.ranks), g = static_cast<double>(group.near);
  const double network = machine_.network_bytes_per_second * kShareOfNetwork;
  const double link = machine_.domain_bytes_per_second * kShareOfLink;
  const double nodes = n / g;
  const double latency = kHop * (std::log2(nodes) * 2 + std::log2(std::max(g, 1.0))) + 20e-6;
  if (message == Message::all_to_all) {
    // Each rank's own card carries what leaves the node.
    return bytes * (n - g) / n / network + latency;
  }
  return crossings(message, n) * bytes / std::min(link, network * g) + latency;
}

double Collectives::seconds(Message message, double bytes, Group group) const {
  if (group.ranks <= 1 || bytes <= 0) return 0;
  if (group.near >= group.ranks) return near(message, bytes, group.ranks);
  return far(message, bytes, group);
}

double Collectives::served_all_reduce(double bytes, std::int64_t ranks) const {
  if (ranks <= 1 || bytes <= 0) return 0;
  const double plain = near(Message::all_reduce, bytes, ranks);
  const Measured found = measured(kServed, bytes, ranks);
  if (found.seconds < 0) return plain;
  return std::min(plain, found.seconds *
                             crossings(Message::all_reduce, static_cast<double>(ranks)) /
                             crossings(Message::all_reduce, found.ranks));
}

double Collectives::send(double bytes, bool is_near) const {
  const double pace = is_near ? machine_.domain_bytes_per_second * kShareOfLink
                              : machine_.network_bytes_per_second * kShareOfNetwork;
  return bytes / pace + (is_near ? 8e-6 : 15e-6);
}

}  // namespace memtape::time
