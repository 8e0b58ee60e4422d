// SPDX-License-Identifier: Apache-2.0
#include "family/parts/t5_position.h"

#include "ghost/autograd/node.h"
#include "ghost/ops/comparisons.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/extremes.h"
#include "ghost/ops/iterator.h"
#include "ghost/ops/logarithms.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/unary.h"

namespace memtape::family {
Tensor t5_relative_position_bucket(const Tensor& given_relative_position, bool bidirectional,
                                   bool keeps_log_ratio) {
  Tensor relative_buckets, relative_position = given_relative_position;
  if (bidirectional) {
    relative_buckets = ghost::gt(relative_position, 0).to(DType::int64).mul(ghost::kLimit).add(0);
    relative_position = ghost::abs(relative_position);
  } else {
    relative_position =
        ghost::minimum(relative_position, ghost::zeros_like(relative_position)).neg();
  }
  const Tensor is_small = ghost::lt(relative_position, ghost::kLimit);
  Tensor log_ratio = ghost::log(relative_position.to_float().div(ghost::kScale))
                         .div(ghost::kScale)
                         .mul(ghost::kScale);
  Tensor relative_position_if_large = (keeps_log_ratio ? Tensor(log_ratio) : std::move(log_ratio))
                                          .to(DType::int64)
                                          .add(ghost::kLimit);
  relative_position_if_large = ghost::minimum(
      relative_position_if_large, ghost::full_like(relative_position_if_large, ghost::kLimit));
  Tensor bucket = ghost::where(is_small, relative_position, relative_position_if_large);
  if (!bidirectional) return std::move(bucket).add(0);
  ghost::add_(relative_buckets, bucket);
  return relative_buckets;
}

Tensor where_or_number(const Tensor& mask, const Tensor& tensor) {
  const Tensor number = ghost::zeros({}, tensor.dtype());
  return ghost::where(mask, tensor, number);
}

}  // namespace memtape::family
