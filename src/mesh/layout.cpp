// SPDX-License-Identifier: Apache-2.0
#include "mesh/layout.h"

namespace memtape {

std::int64_t Layout::stride(std::size_t i) const {
  std::int64_t stride = 1;
  for (std::size_t later = i + 1; later < axes_.size(); ++later) stride *= axes_[later].size;
  return stride;
}

std::int64_t Layout::size() const {
  std::int64_t size = 1;
  for (const Axis& axis : axes_) size *= axis.size;
  return size;
}

std::int64_t Layout::size(std::string_view name) const {
  for (const Axis& axis : axes_)
    if (axis.name == name) return axis.size;
  return 1;
}

std::int64_t Layout::coordinate(std::int64_t rank, std::string_view name) const {
  for (std::size_t i = 0; i < axes_.size(); ++i)
    if (axes_[i].name == name) return rank / stride(i) % axes_[i].size;
  return 0;
}

std::vector<std::int64_t> Layout::group(std::int64_t rank, std::string_view name) const {
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    if (axes_[i].name != name) continue;
    const std::int64_t first = rank - coordinate(rank, name) * stride(i);
    std::vector<std::int64_t> ranks;
    for (std::int64_t at = 0; at < axes_[i].size; ++at) ranks.push_back(first + at * stride(i));
    return ranks;
  }
  return {rank};
}

}  // namespace memtape
