// SPDX-License-Identifier: Apache-2.0
#include "family/parts/alibi.h"

#include <algorithm>
#include <bit>

#include "ghost/autograd/node.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/reductions.h"

namespace memtape::family {
namespace {

/// torch.pow of one float32 and a row of int32.
Tensor powers_of(const Tensor&, const Tensor& powers) {
  const ghost::Op op("pow", {});
  return ghost::empty(powers.sizes(), DType::float32);
}

}  // namespace

Tensor build_alibi_tensor(const Tensor& attention_mask, std::int64_t num_heads, DType dtype,
                          bool bfloat16_slopes) {
  const std::int64_t batch_size = attention_mask.size(0), seq_length = attention_mask.size(1);
  const auto closest_power_of_2 =
      static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(num_heads)));
  const Tensor base = ghost::full({}, DType::float32);
  const Tensor powers = ghost::arange(closest_power_of_2, DType::int32);
  Tensor slopes = powers_of(base, powers), extra_base, extra_powers;
  if (closest_power_of_2 != num_heads) {
    extra_base = ghost::full({}, DType::float32);
    extra_powers =
        ghost::arange(std::min(closest_power_of_2, num_heads - closest_power_of_2), DType::int32);
    slopes = ghost::cat({slopes, powers_of(extra_base, extra_powers)}, 0);
  }
  const Tensor arange_tensor =
      ghost::cumsum(attention_mask).add(-1).mul(attention_mask).unsqueeze(1);
  Tensor column = slopes.unsqueeze(-1);
  if (bfloat16_slopes) column = column.to(DType::bfloat16);
  const Tensor alibi = std::move(column).mul(arange_tensor);
  return alibi.reshape({batch_size * num_heads, 1, seq_length}).to(dtype);
}

}  // namespace memtape::family
