// SPDX-License-Identifier: Apache-2.0
// FlatLayout: parameters laid one after the other in a flat buffer that is cut into equal
// partitions, one a rank (ZeRO 1 and 2; initialize_gradient_partition of stage_1_and_2.py). A
// partition begins and ends anywhere, also within a parameter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace memtape::deepspeed {

/// What a partition holds of a parameter.
struct Piece {
  std::int64_t partition = 0;
  std::int64_t in_parameter = 0, in_partition = 0;  ///< where it begins in either
  std::int64_t elements = 0;
};

class FlatLayout {
 public:
  /// `alignment`: parameters begin at multiples of so many elements.
  FlatLayout(const std::vector<std::int64_t>& numels, std::int64_t partitions,
             std::int64_t alignment);

  std::int64_t numel() const { return partition_size_ * partitions_; }
  std::int64_t partition_size() const { return partition_size_; }
  std::int64_t start(std::size_t parameter) const { return starts_[parameter]; }
  /// Elements to fill up before the parameter after this one.
  std::int64_t padding(std::size_t parameter) const { return paddings_[parameter]; }

  /// The pieces of a parameter, in order.
  std::vector<Piece> pieces(std::size_t parameter) const;
  std::optional<Piece> piece(std::size_t parameter, std::int64_t partition) const;

 private:
  std::vector<std::int64_t> numels_, starts_, paddings_;
  std::int64_t partitions_, partition_size_;
};

}  // namespace memtape::deepspeed
