// SPDX-License-Identifier: Apache-2.0
// Layout: the GPUs of a job as a product of named axes ("dp", "pp", "tp"), and the place of each
// rank in it. Ranks count through the axes as through the digits of a number, the last axis
// fastest. This is the order of torch's init_device_mesh and of Megatron's rank generator, which
// differ only in the order in which they name their axes.
//
//     Layout({{"dp", 2}, {"tp", 4}})   rank 6 is dp 1, tp 2; its tp group is 4 5 6 7
//
// Invariant: the sizes multiply to size().
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace memtape {

class Layout {
 public:
  struct Axis {
    std::string name;
    std::int64_t size = 1;
  };

  explicit Layout(std::vector<Axis> axes) : axes_(std::move(axes)) {}

  const std::vector<Axis>& axes() const { return axes_; }
  std::int64_t size() const;
  /// The size of an axis; an axis that does not exist has size 1.
  std::int64_t size(std::string_view axis) const;
  /// The place of `rank` along an axis.
  std::int64_t coordinate(std::int64_t rank, std::string_view axis) const;
  /// The process group of `rank` along that axis: the ranks that differ from `rank` only there, and
  /// `rank` itself, in ascending order.
  std::vector<std::int64_t> group(std::int64_t rank, std::string_view axis) const;

 private:
  /// The distance between the ranks of neighbours along axis `i`.
  std::int64_t stride(std::size_t i) const;

  std::vector<Axis> axes_;
};

}  // namespace memtape
