// SPDX-License-Identifier: Apache-2.0
#include "family/caches/quantized_states.h"

#include "ghost/autograd/node.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reduce_kernel.h"
#include "ghost/ops/unary.h"
#include "ghost/session.h"

namespace memtape::family {
namespace {

/// A group per row, or along the last axis a group per column.
Tensor grouped(const Tensor& base, std::int64_t axis, std::int64_t group_size) {
  if (axis == 0) return base.reshape({-1, group_size});
  const std::int64_t axis_dim = base.size(-1), groups = base.numel() / axis_dim / group_size;
  return base.reshape({groups, group_size, axis_dim})
      .permute({1, 2, 0})
      .reshape({group_size, axis_dim * groups});
}

Tensor ungrouped(const Tensor& data, std::int64_t axis, const Dims& sizes) {
  if (axis == 0) return data.reshape(sizes);
  const std::int64_t group_size = data.size(0), axis_dim = sizes[-1];
  return data.reshape({group_size, axis_dim, -1}).permute({2, 0, 1}).reshape(sizes);
}

/// torch.amin, torch.amax over each group.
Tensor extreme(const char* name, const Tensor& data, int over) {
  const ghost::Op op(name, {});
  Dims sizes = data.sizes();
  sizes[over] = 1;
  Tensor found = ghost::empty(sizes, data.dtype());
  ghost::reduce_scratch(data, ghost::dim_set(over), data.dtype(), bytes_of(data.dtype(), 1));
  return found;
}

struct ScaleAndShift {
  Tensor scale, shift;
};

/// MaxOptimizer
ScaleAndShift optimize(const Tensor& base, std::int64_t axis, std::int64_t group_size) {
  const Tensor data = grouped(base, axis, group_size);
  const int over = axis == 0 ? 1 : 0;
  const Tensor rmin = extreme("amin", data, over), rmax = extreme("amax", data, over);
  Tensor scale = rmax.sub(rmin).div(15.0);
  return {std::move(scale), rmin.neg()};
}

/// quanto::quantize_affine
Tensor quantize_affine(const Tensor& base, std::int64_t axis, std::int64_t group_size,
                       const ScaleAndShift& by) {
  const Tensor data = grouped(base, axis, group_size);
  const Tensor rounded = ghost::round(data.add(by.shift).div(by.scale));
  return ghost::clamp(rounded, {.min = 0, .max = 15}).to(DType::uint8);
}

/// pack_weights: rows that are `per_byte` parts of the whole apart share a byte.
Tensor pack(const Tensor& unpacked, std::int64_t per_byte) {
  const std::int64_t rows = ceil_div(unpacked.size(0), per_byte);
  Tensor packed = ghost::zeros({rows, unpacked.size(1)}, DType::uint8, Category::kv_cache);
  const std::int64_t parts = std::min(per_byte, unpacked.size(0) / rows + 1);
  for (std::int64_t i = 0; i < parts; ++i) {
    const std::int64_t end = std::min((i + 1) * rows, unpacked.size(0));
    const Tensor shifted = ghost::lshift(unpacked.slice(0, i * rows, end), i * 8 / per_byte);
  }
  return packed;
}

}  // namespace

void QuantizedStates::quantize(const Tensor& states, std::int64_t axis, const Settings& settings) {
  const std::int64_t group = settings.q_group_size,
                     along = axis == 0 ? states.size(0) : states.size(-1);
  if (along > 0 && states.numel() / along % group != 0)
    return ghost::session().fail(
        {ErrorKind::bad_input, "does not divide the keys and values of a pass",
         "cache_config: q_group_size", "a divisor of " + std::to_string(states.numel() / along)});
  ScaleAndShift by = optimize(states, axis, group);
  {
    const Tensor data = quantize_affine(states, axis, group, by);
    packed_ = pack(data, 8 / settings.nbits);
  }
  scale_ = std::move(by.scale);
  shift_ = std::move(by.shift);
  ghost::session().set_category(scale_, Category::kv_cache);
  ghost::session().set_category(shift_, Category::kv_cache);
  sizes_ = states.sizes();
  axis_ = axis;
  per_byte_ = 8 / settings.nbits;
}

Tensor QuantizedStates::dequantize() const {
  const Tensor unpacked =
      ghost::zeros({packed_.size(0) * per_byte_, packed_.size(1)}, DType::uint8);
  const std::int64_t rows = axis_ == 0 ? scale_.size(0) : packed_.size(0) * per_byte_;
  const Tensor dqt = scale_.mul(unpacked.slice(0, 0, rows));
  return ungrouped(dqt, axis_, sizes_);
}

}  // namespace memtape::family
