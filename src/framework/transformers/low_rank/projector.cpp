// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/low_rank/projector.h"

#include <algorithm>

#include "ghost/ops/creation.h"
#include "ghost/ops/matmul.h"
#include "ghost/session.h"

namespace memtape::transformers {
namespace {

using ghost::Tensor;

/// U, S and Vh of torch.linalg.svd(full_matrices=False): U in columns, Vh in rows, since cuSOLVER
/// made it (_linalg_svd's meta function, BatchLinearAlgebra.cpp). What cuSOLVER needs meanwhile is
/// not known.
struct Svd {
  explicit Svd(const Tensor& a) {
    const std::int64_t m = a.size(0), n = a.size(1), k = std::min(m, n);
    u = ghost::empty_strided({m, k}, {1, m}, a.dtype());
    s = ghost::empty({k}, a.dtype());
    vh = ghost::empty({k, n}, a.dtype());
  }
  Tensor u, s, vh;
};

/// tensor.to(device).type(original_type)
Tensor as_before(Tensor tensor, DType original_type) { return std::move(tensor).to(original_type); }

/// The longer half of what GaLore multiplies for no use: U S or S Vh.
void multiply_unused(const Tensor& vectors, const Tensor& s, std::int64_t rank, bool from_left) {
  Tensor diagonal;
  diagonal = ghost::zeros({rank, rank}, s.dtype());  // torch.diag
  const Tensor unused = from_left ? diagonal.matmul(vectors) : vectors.matmul(diagonal);
}

}  // namespace

Projector::Side Projector::side_of(const Tensor& grad) const {
  const bool tall = grad.size(0) >= grad.size(1);
  switch (recipe_->proj_type) {
    case LowRankRecipe::Side::std: return tall ? Side::right : Side::left;
    case LowRankRecipe::Side::reverse_std: return tall ? Side::left : Side::right;
    case LowRankRecipe::Side::right: return Side::right;
    case LowRankRecipe::Side::left: return Side::left;
    case LowRankRecipe::Side::full: return Side::full;
  }
  return Side::full;
}

Tensor Projector::project(const Tensor& full_rank_grad) {
  const Side side = side_of(full_rank_grad);
  if (steps_++ % recipe_->update_proj_gap == 0) get_orthogonal_matrix(full_rank_grad, side);
  if (side == Side::right) return full_rank_grad.matmul(ortho_matrix_.t());
  const Tensor left = ortho_matrix_.t();
  if (side == Side::left) return left.matmul(full_rank_grad);
  return left.matmul(full_rank_grad).matmul(ortho_matrix_2_.t());
}

/// `std` and `reverse_std` look at the shape of what they are given, which is not the gradient's.
bool Projector::goes_back_from_the_right(const Tensor& low) const {
  switch (recipe_->proj_type) {
    case LowRankRecipe::Side::std: return low.size(0) >= low.size(1);
    case LowRankRecipe::Side::reverse_std: return low.size(0) > low.size(1);
    default: return recipe_->proj_type == LowRankRecipe::Side::right;
  }
}

Tensor Projector::project_back(const Tensor& low_rank_grad) const {
  Tensor full_rank_grad;
  if (recipe_->proj_type == LowRankRecipe::Side::full)
    full_rank_grad = ortho_matrix_.matmul(low_rank_grad).matmul(ortho_matrix_2_);
  else if (goes_back_from_the_right(low_rank_grad))
    full_rank_grad = low_rank_grad.matmul(ortho_matrix_);
  else
    full_rank_grad = ortho_matrix_.matmul(low_rank_grad);
  return full_rank_grad.mul(ghost::kScale);
}

void Projector::get_orthogonal_matrix(const Tensor& weights, Side side) {
  if (kind_ == Kind::svd)
    decompose(weights, side);
  else
    ortho_matrix_ = random_matrix(weights, side);
  for (const Tensor* matrix : {&ortho_matrix_, &ortho_matrix_2_})
    if (matrix->defined()) ghost::session().set_category(*matrix, Category::optimizer_state);
}

/// A slice of float32 vectors keeps all of them alive; other dtypes copy it.
void Projector::decompose(const Tensor& weights, Side side) {
  const DType original_type = weights.dtype();
  const Tensor matrix = weights.to_float();
  const Svd svd(matrix);
  const std::int64_t rank = std::min(recipe_->rank, svd.s.size(0));
  const Tensor columns = svd.u.slice(1, 0, rank), rows = svd.vh.slice(0, 0, rank);
  if (side == Side::right) multiply_unused(columns, svd.s, rank, false);
  if (side == Side::left) multiply_unused(rows, svd.s, rank, true);
  ortho_matrix_ = as_before(side == Side::right ? rows : columns, original_type);
  if (side == Side::full) ortho_matrix_2_ = as_before(rows, original_type);
}

/// A view holds all of the vectors it was cut from.
Bytes Projector::bytes() const {
  Bytes bytes = 0;
  for (const Tensor* matrix : {&ortho_matrix_, &ortho_matrix_2_})
    if (matrix->defined() && matrix->impl().storage)
      bytes += ghost::session().tape.requested[matrix->impl().storage->block];
  return bytes;
}

Bytes bytes_of_all(const std::vector<Projector>& projectors) {
  Bytes bytes = 0;
  for (const Projector& projector : projectors) bytes += projector.bytes();
  return bytes;
}

Tensor Projector::random_matrix(const Tensor& weights, Side side) const {
  const Tensor matrix = weights.to_float();
  const ghost::Dims sizes = side == Side::left ? ghost::Dims{matrix.size(0), recipe_->rank}
                                               : ghost::Dims{recipe_->rank, matrix.size(1)};
  return as_before(ghost::empty(sizes, DType::float32).div(2.0), weights.dtype());
}

}  // namespace memtape::transformers
