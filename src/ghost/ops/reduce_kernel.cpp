// SPDX-License-Identifier: Apache-2.0
#include "ghost/ops/reduce_kernel.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <utility>
#include <vector>

#include "ghost/session.h"

namespace memtape::ghost {
namespace {

constexpr int kVec = 4;  // vt0 and input_vec_size
constexpr std::int64_t kMaxThreads = 512, kWarp = 32;

/// What TensorIterator makes of an output and an input: dimensions from the fastest, reduced ones
/// first, neighbours merged where memory allows. Strides are in bytes; a reduced dimension has none
/// in the output.
struct ReduceIterator {
  struct Dimension {
    std::int64_t size, out_stride, in_stride;
    bool reduced() const { return out_stride == 0; }
  };
  std::vector<Dimension> dims;
  std::int64_t in_size = 0, out_size = 0;

  ReduceIterator(const Tensor& input, DimSet reduced, DType output);

  std::int64_t numel() const {
    return product([](const Dimension&) { return true; });
  }
  std::int64_t outputs() const {
    return product([](const Dimension& d) { return !d.reduced(); });
  }
  std::size_t reduced_dims() const {
    return static_cast<std::size_t>(
        std::count_if(dims.begin(), dims.end(), [](const Dimension& d) { return d.reduced(); }));
  }
  bool fits_32bit() const;
  /// TensorIterator::split: halves the dimension that reaches furthest; the front half is returned.
  ReduceIterator split();

 private:
  template <class Wanted>
  std::int64_t product(Wanted wanted) const {
    std::int64_t n = 1;
    for (const Dimension& d : dims)
      if (wanted(d)) n *= d.size;
    return n;
  }
  void order();
  void coalesce();
};

ReduceIterator::ReduceIterator(const Tensor& input, DimSet reduced, DType output)
    : in_size(bits(input.dtype()) / 8), out_size(bits(output) / 8) {
  std::int64_t out_step = out_size;
  for (int d = input.dim() - 1; d >= 0; --d) {
    const bool gone = (reduced & dim_set(d)) != 0;
    dims.push_back({input.size(d), gone ? 0 : out_step, input.strides()[d] * in_size});
    if (!gone) out_step *= std::max<std::int64_t>(input.size(d), 1);
  }
  order();
  coalesce();
}

/// TensorIteratorBase::reorder_dimensions: an insertion sort in which undecided neighbours keep
/// their places.
void ReduceIterator::order() {
  const auto compare = [](const Dimension& a, const Dimension& b) {
    if (a.reduced() != b.reduced()) return b.reduced() ? 1 : -1;
    const std::array<std::pair<std::int64_t, std::int64_t>, 2> strides{
        {{a.out_stride, b.out_stride}, {a.in_stride, b.in_stride}}};
    for (const auto& [x, y] : strides) {
      if (x == 0 || y == 0) continue;
      if (x != y) return x < y ? -1 : 1;
      if (a.size > b.size) return 1;
    }
    return 0;
  };
  for (std::size_t i = 1; i < dims.size(); ++i) {
    std::size_t moving = i;
    for (std::size_t before = i; before-- > 0;) {
      const int compared = compare(dims[before], dims[moving]);
      if (compared > 0) {
        std::swap(dims[before], dims[moving]);
        moving = before;
      } else if (compared < 0) {
        break;
      }
    }
  }
}

/// TensorIteratorBase::coalesce_dimensions
void ReduceIterator::coalesce() {
  if (dims.size() <= 1) return;
  std::size_t last = 0;
  for (std::size_t i = 1; i < dims.size(); ++i) {
    Dimension& a = dims[last];
    const Dimension& b = dims[i];
    const bool follows =
        a.size * a.out_stride == b.out_stride && a.size * a.in_stride == b.in_stride;
    if (a.size == 1 || b.size == 1 || follows) {
      if (a.size == 1) a = {1, b.out_stride, b.in_stride};
      a.size *= b.size;
    } else {
      dims[++last] = b;
    }
  }
  dims.resize(last + 1);
}

bool ReduceIterator::fits_32bit() const {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  if (numel() > kMost) return false;
  std::int64_t out_end = 1, in_end = 1;
  for (const Dimension& d : dims) {
    out_end += (d.size - 1) * d.out_stride;
    in_end += (d.size - 1) * d.in_stride;
  }
  return out_end <= kMost && in_end <= kMost;
}

ReduceIterator ReduceIterator::split() {
  const auto reach = [](const Dimension& d) {
    return (d.size - 1) * std::max(d.out_stride, d.in_stride);
  };
  std::size_t furthest =
      dims.size() - 1;  // the later dimension wins a tie: the loop runs from the last
  for (std::size_t d = dims.size(); d-- > 0;)
    if (dims[d].size > 1 && reach(dims[d]) > reach(dims[furthest])) furthest = d;
  ReduceIterator front = *this;
  front.dims[furthest].size /= 2;
  dims[furthest].size -= front.dims[furthest].size;
  return front;
}

/// ReduceConfig as setReduceConfig leaves it, as far as memory goes.
struct Division {
  Bytes buffer = 0, semaphores = 0;
};

std::int64_t last_power_of_2(std::int64_t n) {
  return static_cast<std::int64_t>(
      std::bit_floor(static_cast<std::uint64_t>(std::max<std::int64_t>(n, 1))));
}

/// get_output_vec_size: how many neighbouring outputs one thread can handle; addresses are taken as
/// aligned.
std::int64_t output_vector(const ReduceIterator& iter) {
  std::int64_t vector = kVec;
  const auto divides = [&](std::int64_t n) {
    while (n % vector != 0) vector /= 2;
  };
  const std::size_t output_dim = iter.reduced_dims();
  divides(iter.dims[output_dim].size);
  for (std::size_t d = 0; d < iter.dims.size(); ++d)
    if (d != output_dim) divides(iter.dims[d].in_stride / iter.in_size);
  return vector;
}

struct Block {
  std::int64_t width, height, vector;
  bool reduces_x;
};

/// Thread block over the fastest dimension, reduced or not (set_block_dimension).
Block block_for(const ReduceIterator& iter, std::int64_t inputs, std::int64_t outputs) {
  const std::size_t reduced = iter.reduced_dims();
  const bool along_input =
      reduced == iter.dims.size() || iter.dims[0].in_stride < iter.dims[reduced].in_stride;
  std::int64_t dim0 = along_input ? inputs : outputs;
  const std::int64_t dim1 = along_input ? outputs : inputs;
  const std::int64_t fastest = iter.dims[along_input ? 0 : reduced].in_stride;
  std::int64_t vector = 1;
  if (fastest == iter.in_size) {
    if (!along_input)
      dim0 /= vector = output_vector(iter);
    else if (dim0 >= 128 && reduced == 1)
      dim0 /= kVec;
  }
  const std::int64_t most = kMaxThreads / vector;
  const std::int64_t x = std::min(last_power_of_2(dim0), most),
                     y = std::min(last_power_of_2(dim1), most);
  const std::int64_t narrow = std::min(x, kWarp);
  const std::int64_t height = std::min(y, most / narrow);
  return {std::min(x, most / height), height, vector, along_input};
}

/// setReduceConfig
Division divide(const ReduceIterator& iter, Bytes accumulator) {
  if (iter.dims.empty()) return {};
  const DeviceTraits& device = session().device;
  const std::int64_t outputs = iter.outputs(),
                     inputs = iter.numel() / std::max<std::int64_t>(outputs, 1);
  const Block block = block_for(iter, inputs, outputs);
  std::int64_t step_input = block.reduces_x ? block.width : 1;
  const std::int64_t step_output = block.reduces_x ? 1 : block.width;
  if (ceil_div(inputs, step_input) < std::min<std::int64_t>(block.height * 16, 256)) return {};
  step_input *= block.height;
  const std::int64_t values = ceil_div(inputs, step_input);
  const std::int64_t grid = ceil_div(outputs / block.vector, step_output);
  const std::int64_t blocks_per_processor =
      device.max_threads_per_sm() / (block.width * block.height);
  const std::int64_t target = device.sm_count * blocks_per_processor;
  if (values < 256 || grid > target) return {};
  const std::int64_t ctas =
      std::max(std::min(ceil_div(target, grid), ceil_div(values, 16)), ceil_div(values, 256));
  if (ctas <= 1) return {};
  const std::int64_t lanes = block.reduces_x ? 1 : block.width * block.vector;
  return {accumulator * outputs * ctas * lanes, Bytes{4} * grid};
}

void reduce_32bit(const ReduceIterator& iter, Bytes accumulator) {
  const Division division = divide(iter, accumulator);
  if (division.buffer == 0) return;
  const Tensor buffer = empty({division.buffer}, DType::uint8);
  const Tensor semaphores = empty({division.semaphores / 4}, DType::int32);
}

}  // namespace

void reduce_scratch(const Tensor& input, DimSet reduced, DType output,
                    std::optional<Bytes> partial) {
  if (input.numel() == 0) return;
  const Bytes accumulator = partial                    ? *partial
                            : output == DType::boolean ? bits(input.dtype()) / 8
                                                       : std::max<Bytes>(bits(output) / 8, 4);
  constexpr Bytes kLargestNumber = 8;  // a value and its place are no number
  const bool meets_in_output =
      accumulator <= kLargestNumber && !(bits(output) == 16 && input.dtype() == output);
  ReduceIterator iter(input, reduced, output);
  if (session().skipping) return;
  if (iter.fits_32bit()) return reduce_32bit(iter, accumulator);
  Tensor accumulation;  // Reduce.cuh:AccumulationBuffer
  if (!meets_in_output) {
    std::int64_t reach = 1;
    for (const ReduceIterator::Dimension& d : iter.dims)
      reach = std::max(reach, d.size * d.out_stride / iter.out_size);
    accumulation = empty({reach * accumulator}, DType::uint8);
  }
  std::vector<ReduceIterator> parts{std::move(iter)};
  while (!parts.empty()) {  // SplitUntil32Bit
    while (!parts.back().fits_32bit()) parts.push_back(parts.back().split());
    reduce_32bit(parts.back(), accumulator);
    parts.pop_back();
  }
}

}  // namespace memtape::ghost
