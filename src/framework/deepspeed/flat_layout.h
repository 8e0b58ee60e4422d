// SPDX-License-Identifier: Apache-2.0
// FlatLayout: parameters that follow each other in a flat buffer, which is divided into equal
// partitions, one for each rank (ZeRO 1 and 2; initialize_gradient_partition of stage_1_and_2.py).
// A partition may begin and end anywhere, even within a parameter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace memtape::deepspeed {

/// The piece of a parameter that a partition holds.
struct Piece {
  std::int64_t partition = 0;
  /// Where the piece begins in the parameter and in the partition.
  std::int64_t in_parameter = 0, in_partition = 0;
  std::int64_t elements = 0;
};

class FlatLayout {
 public:
  /// Parameters begin at multiples of `alignment` elements.
  FlatLayout(const std::vector<std::int64_t>& numels, std::int64_t partitions,
             std::int64_t alignment);

  std::int64_t numel() const { return partition_size_ * partitions_; }
  std::int64_t partition_size() const { return partition_size_; }
  std::int64_t start(std::size_t parameter) const { return starts_[parameter]; }
  /// The elements that pad this parameter before the next one begins.
  std::int64_t padding(std::size_t parameter) const { return paddings_[parameter]; }

  /// The pieces of a parameter, in order.
  std::vector<Piece> pieces(std::size_t parameter) const;
  std::optional<Piece> piece(std::size_t parameter, std::int64_t partition) const;

 private:
  std::vector<std::int64_t> numels_, starts_, paddings_;
  std::int64_t partitions_, partition_size_;
};

}  // namespace memtape::deepspeed
