// SPDX-License-Identifier: Apache-2.0
#include "framework/deepspeed/flat_layout.h"

#include <algorithm>

#include "base/bytes.h"

namespace memtape::deepspeed {
namespace {

/// nccl_start_alignment_factor: partitions begin at multiples of so many elements.
constexpr std::int64_t kStartAlignment = 2;

}  // namespace

FlatLayout::FlatLayout(const std::vector<std::int64_t>& numels, std::int64_t partitions,
                       std::int64_t alignment)
    : numels_(numels), partitions_(partitions) {
  std::int64_t end = 0;
  for (std::size_t i = 0; i < numels.size(); ++i) {
    starts_.push_back(end);
    end += numels[i];
    const bool last = i + 1 == numels.size();
    paddings_.push_back(last ? 0 : ceil_div(end, alignment) * alignment - end);
    end += paddings_.back();
  }
  partition_size_ = ceil_div(end, kStartAlignment * partitions) * kStartAlignment;
}

std::vector<Piece> FlatLayout::pieces(std::size_t parameter) const {
  std::vector<Piece> found;
  const std::int64_t begin = starts_[parameter], end = begin + numels_[parameter];
  for (std::int64_t at = begin; at < end;) {
    const std::int64_t partition = at / partition_size_;
    const std::int64_t next = std::min(end, (partition + 1) * partition_size_);
    found.push_back({partition, at - begin, at - partition * partition_size_, next - at});
    at = next;
  }
  return found;
}

std::optional<Piece> FlatLayout::piece(std::size_t parameter, std::int64_t partition) const {
  const std::int64_t begin = starts_[parameter], end = begin + numels_[parameter];
  const std::int64_t from = std::max(begin, partition * partition_size_);
  const std::int64_t to = std::min(end, (partition + 1) * partition_size_);
  if (from >= to) return std::nullopt;
  return Piece{partition, from - begin, from - partition * partition_size_, to - from};
}

}  // namespace memtape::deepspeed
