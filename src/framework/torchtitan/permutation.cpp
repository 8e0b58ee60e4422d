// SPDX-License-Identifier: Apache-2.0
#include "framework/torchtitan/permutation.h"

#include <utility>

#include "ghost/ops/creation.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/put_rows.h"
#include "ghost/ops/reductions.h"
#include "ghost/ops/unary.h"
#include "ghost/session.h"

namespace memtape::torchtitan {
namespace {

using ghost::Tensor;

constexpr std::int64_t kTokenGroupAlignSizeM = 8;  // TOKEN_GROUP_ALIGN_SIZE_M of bfloat16

struct Indices {
  Tensor permuted, counts, offsets;
};

/// generate_permute_indices
Indices generate_permute_indices(const Tensor& tokens_per_expert_group, std::int64_t ranks,
                                 std::int64_t max_len) {
  const Tensor start_index_values =
      ghost::cumsum(tokens_per_expert_group).sub(tokens_per_expert_group);
  Tensor totals = tokens_per_expert_group.view({ranks, -1}).sum(0);
  totals = ghost::clamp_min(totals, kTokenGroupAlignSizeM);
  Tensor aligned = totals.add(kTokenGroupAlignSizeM).sub(1);
  aligned = ghost::floor_divide(aligned, kTokenGroupAlignSizeM);
  aligned = aligned.mul(kTokenGroupAlignSizeM);
  Tensor m_sizes = std::move(aligned).to(DType::int32);
  const Tensor m_offsets = ghost::cumsum(m_sizes);
  const Tensor write_offsets = m_offsets.sub(m_sizes);
  Tensor permuted = ghost::full({max_len}, DType::int32);
  return {std::move(permuted), std::move(m_sizes), m_offsets.to(DType::int32)};
}

}  // namespace

Permuted permute(const Tensor& x, const Tensor& num_tokens_per_expert, std::int64_t ranks,
                 std::int64_t experts) {
  const std::int64_t rows = x.size(0) + experts * kTokenGroupAlignSizeM;
  Indices indices;
  {
    const ghost::GradMode no_grad(false);
    indices =
        generate_permute_indices(num_tokens_per_expert, ranks,
                                 ceil_div(rows, kTokenGroupAlignSizeM) * kTokenGroupAlignSizeM);
  }
  const Tensor padded = ghost::cat({x, ghost::zeros({1, x.size(1)}, x.dtype())}, 0);
  Permuted permuted{.input_sizes = padded.sizes(), .indices = {}, .counts = {}, .x = {}};
  permuted.x = ghost::index(padded, indices.permuted);
  permuted.indices = std::move(indices.permuted);
  permuted.counts = std::move(indices.counts);
  return permuted;
}

Tensor unpermute(const Tensor& out, const Permuted& permuted) {
  const Tensor unpermuted = ghost::empty(permuted.input_sizes, out.dtype());
  ghost::put_rows_(unpermuted, permuted.indices, out);
  return unpermuted.slice(0, 0, -1);
}

}  // namespace memtape::torchtitan
