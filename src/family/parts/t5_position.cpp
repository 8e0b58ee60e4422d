// SPDX-License-Identifier: Apache-2.0
#include "family/parts/t5_position.h"

#include "ghost/autograd/node.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/iterator.h"
#include "ghost/ops/pointwise.h"

namespace memtape::family {
namespace {

/// torch.min of two tensors.
Tensor torch_min(const In& a, const In& b) {
  const ghost::Op op("minimum", {&a, &b});
  return ghost::pointwise_output({&*a, &*b}, a->dtype());
}

}  // namespace

Tensor t5_relative_position_bucket(const Tensor& given_relative_position, bool bidirectional,
                                   bool keeps_log_ratio) {
  constexpr double kNumber = 2.0;  // what numbers are does not matter here
  Tensor relative_buckets, relative_position = given_relative_position;
  if (bidirectional) {
    relative_buckets =
        ghost::comparison("gt", relative_position).to(DType::int64).mul(kNumber).add(0);
    relative_position = ghost::plain_unary("abs", relative_position);
  } else {
    relative_position = torch_min(relative_position, ghost::zeros_like(relative_position)).neg();
  }
  const Tensor is_small = ghost::comparison("lt", relative_position);
  Tensor log_ratio = ghost::plain_unary("log", relative_position.to_float().div(kNumber))
                         .div(kNumber)
                         .mul(kNumber);
  Tensor relative_position_if_large =
      (keeps_log_ratio ? Tensor(log_ratio) : std::move(log_ratio)).to(DType::int64).add(kNumber);
  relative_position_if_large = torch_min(
      relative_position_if_large, ghost::plain_unary("full_like", relative_position_if_large));
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
