// SPDX-License-Identifier: Apache-2.0
#include "ghost/ops/reduce_config.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <utility>

#include "ghost/session.h"

namespace memtape::ghost {
namespace {

bool is_half(DType t) { return bits(t) == 16 && is_floating_point(t); }

constexpr std::int64_t kInt32Max = std::numeric_limits<std::int32_t>::max();

/// TensorIterator's view of a reduction: dimensions fastest first, reduced ones before kept ones, neighbours that lie
/// packed merged. Strides are in elements; a reduced dimension has output stride 0.
class Iterator {
 public:
  Iterator(const Tensor& input, DimMask reduced) : rank_(input.dim()) {
    std::int64_t step = 1;
    for (int d = rank_ - 1; d >= 0; --d) {
      Dimension& dimension = dims_[static_cast<std::size_t>(rank_ - 1 - d)];
      const bool gone = (reduced >> d & 1U) != 0;
      dimension = {.size = input.size(d), .in = input.strides()[d], .out = gone ? 0 : step};
      if (!gone) step *= input.size(d);
    }
    reorder();
    coalesce();
  }

  struct Dimension {
    std::int64_t size = 1, in = 0, out = 0;
  };
  int rank() const { return rank_; }
  const Dimension& operator[](int i) const { return dims_[static_cast<std::size_t>(i)]; }
  std::int64_t offset() const { return offset_; }

  std::int64_t numel() const {
    std::int64_t n = 1;
    for (int i = 0; i < rank_; ++i) n *= (*this)[i].size;
    return n;
  }
  std::int64_t outputs() const {
    std::int64_t n = 1;
    for (int i = 0; i < rank_; ++i)
      if ((*this)[i].out != 0) n *= (*this)[i].size;
    return n;
  }
  int reduced_rank() const {
    int n = 0;
    for (int i = 0; i < rank_; ++i) n += (*this)[i].out == 0 ? 1 : 0;
    return n;
  }
  /// How far the output reaches, in elements.
  std::int64_t output_extent() const {
    std::int64_t most = 1;
    for (int i = 0; i < rank_; ++i) most = std::max(most, (*this)[i].size * (*this)[i].out);
    return most;
  }

  bool fits_32_bits(const ReduceKernel& kernel) const {
    std::int64_t in = 1, out = 1;
    for (int i = 0; i < rank_; ++i) {
      in += ((*this)[i].size - 1) * (*this)[i].in * kernel.input_size;
      out += ((*this)[i].size - 1) * (*this)[i].out * kernel.output_size;
    }
    return numel() <= kInt32Max && in <= kInt32Max && out <= kInt32Max;
  }

  /// TensorIterator::split of the dimension that reaches farthest: returns the first half and keeps the second.
  Iterator split(const ReduceKernel& kernel) {
    Dimension& widest = dims_[static_cast<std::size_t>(dimension_to_split(kernel))];
    Iterator first = *this;
    const std::int64_t half = widest.size / 2;
    first.dims_[static_cast<std::size_t>(&widest - dims_.data())].size = half;
    widest.size -= half;
    offset_ += half * widest.in;
    return first;
  }

 private:
  int dimension_to_split(const ReduceKernel& kernel) const {
    std::int64_t most = -1;
    int found = 0;
    for (int i = rank_ - 1; i >= 0; --i) {
      const Dimension& d = (*this)[i];
      for (const std::int64_t extent : {(d.size - 1) * d.out * kernel.output_size, (d.size - 1) * d.in * kernel.input_size}) {
        if (extent <= most) continue;
        most = extent;
        found = i;
      }
    }
    return found;
  }

  /// reorder_dimensions' should_swap: 1 if `a` must come after `b`, -1 if before, 0 if it cannot be told.
  static int compare(const Dimension& a, const Dimension& b) {
    if ((a.out == 0) != (b.out == 0)) return b.out == 0 ? 1 : -1;
    for (const auto& [x, y] : {std::pair{a.out, b.out}, std::pair{a.in, b.in}}) {
      if (x == 0 || y == 0) continue;
      if (x != y) return x < y ? -1 : 1;
      if (a.size > b.size) return 1;
    }
    return 0;
  }

  void reorder() {
    for (int i = 1; i < rank_; ++i) {
      int moving = i;
      for (int before = i - 1; before >= 0; --before) {
        const int order = compare((*this)[before], (*this)[moving]);
        if (order < 0) break;
        if (order == 0) continue;
        std::swap(dims_[static_cast<std::size_t>(before)], dims_[static_cast<std::size_t>(moving)]);
        moving = before;
      }
    }
  }

  void coalesce() {
    if (rank_ < 2) return;
    int last = 0;
    for (int i = 1; i < rank_; ++i) {
      Dimension& merged = dims_[static_cast<std::size_t>(last)];
      const Dimension next = (*this)[i];
      const bool packed = merged.size * merged.in == next.in && merged.size * merged.out == next.out;
      if (merged.size == 1 || next.size == 1 || packed) {
        if (merged.size == 1) {
          merged.in = next.in;
          merged.out = next.out;
        }
        merged.size *= next.size;
      } else {
        dims_[static_cast<std::size_t>(++last)] = next;
      }
    }
    rank_ = last + 1;
  }

  std::array<Dimension, Dims::kMaxRank> dims_{};
  int rank_;
  std::int64_t offset_ = 0;  ///< where the piece begins in the input, in elements
};

/// get_output_vec_size: how many neighbouring outputs one thread can load at once.
int output_vector_size(const Iterator& iter) {
  const int output_index = iter.reduced_rank();
  int size = 4;
  const auto limit = [&size](std::int64_t n) {
    while (n % size != 0) size /= 2;
  };
  limit(iter.offset());
  limit(iter[output_index].size);
  for (int i = 0; i < iter.rank(); ++i)
    if (i != output_index) limit(iter[i].in);
  return size;
}

/// Threads of a block along the two directions a reduction is laid out in (ReduceConfig::set_block_dimension).
struct BlockShape {
  std::int64_t width, height;
};

BlockShape block_shape(std::int64_t dim0, std::int64_t dim1, int output_vector) {
  constexpr std::int64_t kMaxThreads = 512, kWarp = 32;
  const std::int64_t most = kMaxThreads / output_vector;
  const auto power = [most](std::int64_t n) {
    return n < most ? static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(std::max<std::int64_t>(n, 1)))) : most;
  };
  BlockShape block{.width = std::min(power(dim0), kWarp), .height = 0};
  block.height = std::min(power(dim1), most / block.width);
  block.width = std::min(power(dim0), most / block.height);
  return block;
}

struct Scratch {
  Bytes buffer = 0, semaphores = 0;
};

/// setReduceConfig: what the kernel's launch takes from the allocator, nothing where a block can do each output alone.
class ReduceConfig {
 public:
  ReduceConfig(const Iterator& iter, const ReduceKernel& kernel)
      : outputs_(iter.outputs()), inputs_(iter.numel() / outputs_), kernel_(kernel) {
    lay_out(iter);
    (along_input_ ? step_input_ : step_output_) *= block_.width;
    constexpr std::int64_t kMaxValues = 256;
    const bool split_across_warps = values_per_thread() >= std::min(block_.height * 16, kMaxValues);
    (split_across_warps ? step_input_ : step_output_) *= block_.height;
    if (split_across_warps) split_across_blocks();
  }

  Scratch scratch() const {
    if (blocks_per_output_ == 1) return {};
    const Bytes buffer = kernel_.accumulator_size * outputs_ * blocks_per_output_;
    return {.buffer = along_input_ ? buffer : buffer * block_.width * output_vector_, .semaphores = 4 * grid()};
  }

 private:
  void lay_out(const Iterator& iter) {
    const int kept = iter.reduced_rank();
    along_input_ = iter.rank() == 0 || kept == iter.rank() || iter[0].in < iter[kept].in;
    std::int64_t dim0 = along_input_ ? inputs_ : outputs_;
    const std::int64_t dim1 = along_input_ ? outputs_ : inputs_;
    const std::int64_t fastest = iter.rank() == 0 ? 1 : iter[along_input_ ? 0 : kept].in;
    if (fastest == 1) {
      if (along_input_ && dim0 >= 128 && kept == 1) {
        dim0 /= kernel_.input_vector;
      } else if (!along_input_) {
        output_vector_ = output_vector_size(iter);
        dim0 /= output_vector_;
      }
    }
    block_ = block_shape(dim0, dim1, output_vector_);
  }

  std::int64_t values_per_thread() const { return ceil_div(inputs_, step_input_); }
  std::int64_t grid() const { return ceil_div(outputs_ / output_vector_, step_output_); }

  void split_across_blocks() {
    constexpr std::int64_t kMinValues = 16, kMaxValues = 256;
    const DeviceTraits& device = session().device;
    const std::int64_t target = device.sm_count * (device.max_threads_per_sm / (block_.width * block_.height));
    if (values_per_thread() < kMaxValues || grid() > target) return;
    const std::int64_t to_fill = ceil_div(target, grid());
    const std::int64_t most_useful = ceil_div(values_per_thread(), kMinValues);
    const std::int64_t least = ceil_div(values_per_thread(), kMaxValues);
    blocks_per_output_ = std::max(std::min(to_fill, most_useful), least);
  }

  std::int64_t outputs_, inputs_;
  ReduceKernel kernel_;
  bool along_input_ = true;  ///< the fastest dimension is a reduced one
  int output_vector_ = 1;
  BlockShape block_{1, 1};
  std::int64_t step_input_ = 1, step_output_ = 1, blocks_per_output_ = 1;
};

void launch(const Iterator& iter, const ReduceKernel& kernel) {
  const Scratch scratch = ReduceConfig(iter, kernel).scratch();
  if (scratch.buffer == 0) return;
  const Tensor buffer = empty({scratch.buffer}, DType::uint8);
  const Tensor semaphores = empty({scratch.semaphores}, DType::uint8);
}

/// with_32bit_indexing: the first half before the second, each split further until it can be indexed.
void launch_pieces(Iterator iter, const ReduceKernel& kernel) {
  while (!iter.fits_32_bits(kernel)) launch_pieces(iter.split(kernel), kernel);
  launch(iter, kernel);
}

}  // namespace

ReduceKernel ReduceKernel::sum_like(DType input, DType output) {
  const bool half = is_half(input);
  return {.input_size = bytes_of(input, 1),
          .output_size = bytes_of(output, 1),
          .accumulator_size = half ? 4 : bytes_of(input, 1),
          .input_vector = half ? 8 : 4,
          .accumulates_in_output = !(half && input == output)};
}

ReduceKernel ReduceKernel::norm(DType input, DType output) {
  ReduceKernel kernel = sum_like(input, output);
  kernel.input_vector = 4;
  return kernel;
}

ReduceKernel ReduceKernel::plain(DType input, DType output) {
  const Bytes size = bytes_of(input, 1);
  const bool half = is_half(input);
  return {.input_size = size,
          .output_size = bytes_of(output, 1),
          .accumulator_size = size,
          .accumulates_in_output = !(half && input == output)};
}

void take_reduce_scratch(const ReduceKernel& kernel, const Tensor& input, DimMask reduced) {
  if (input.numel() == 0 || session().skipping) return;
  const Iterator iter(input, reduced);
  Tensor sums;
  if (!kernel.accumulates_in_output && !iter.fits_32_bits(kernel) && kernel.output_size < kernel.accumulator_size)
    sums = empty({iter.output_extent() * kernel.accumulator_size}, DType::uint8);
  launch_pieces(iter, kernel);
}

}  // namespace memtape::ghost
