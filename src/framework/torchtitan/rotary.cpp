// SPDX-License-Identifier: Apache-2.0
#include "framework/torchtitan/rotary.h"

#include <utility>

#include "ghost/ops/complex.h"
#include "ghost/ops/copies.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/unary.h"
#include "ghost/ops/views.h"

namespace memtape::torchtitan {

using ghost::Dims;
using ghost::Tensor;

Tensor seen_as(const Tensor& numbers, DType dtype, const Dims& sizes) {
  Tensor seen = ghost::alias(numbers, sizes, ghost::contiguous_strides(sizes));
  seen.impl().dtype = dtype;
  return seen;
}

namespace {

/// Pairs of x as complex numbers in float32.
Tensor as_complex(const Tensor& x) {
  return ghost::view_as_complex(
      x.to_float().reshape(x.sizes().leading().with(x.size(-1) / 2).with(2)));
}
Tensor as_real(const Tensor& numbers, const Dims& sizes) {
  return ghost::view_as_real(numbers).view(sizes);
}

/// apply_rotary_emb of llama3.
Rotated rotate_complex(const Tensor& xq, const Tensor& xk, const Tensor& freqs_cis) {
  const Tensor q = as_complex(xq), k = as_complex(xk);
  const Tensor freqs = seen_as(freqs_cis, DType::float32, {1, xq.size(1), 1, freqs_cis.size(1), 2});
  const Tensor q_out = as_real(ghost::complex_mul(q, freqs), xq.sizes());
  const Tensor k_out = as_real(ghost::complex_mul(k, freqs), xk.sizes());
  Tensor rotated_q = q_out.to(xq.dtype());
  return {std::move(rotated_q), k_out.to(xk.dtype())};
}

Tensor rotate_half(const Tensor& x) {
  const std::int64_t half = x.size(-1) / 2;
  const Tensor x1 = x.slice(-1, 0, half), x2 = x.slice(-1, half, x.size(-1));
  return ghost::cat({x2.neg(), x1}, -1);
}

Tensor rotate_halves(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  const Tensor left = x.mul(cos);
  return left.add(rotate_half(x).mul(sin));
}

/// apply_rotary_emb of qwen3: cosines and sines lie beside each other in one table.
Rotated rotate_real(const Tensor& xq, const Tensor& xk, const Tensor& table) {
  const std::int64_t head = xq.size(-1);
  const Tensor rows = table.slice(0, 0, xq.size(1)).view({1, xq.size(1), 1, 2 * head});
  const Tensor cos = rows.slice(-1, 0, head).to(xq.dtype());
  const Tensor sin = rows.slice(-1, head, 2 * head).to(xq.dtype());
  Tensor rotated_q = rotate_halves(xq, cos, sin);
  return {std::move(rotated_q), rotate_halves(xk, cos, sin)};
}

}  // namespace

Rotated rotate(Rope rope, const Tensor& xq, const Tensor& xk, const Tensor& freqs_cis) {
  return rope == Rope::complex ? rotate_complex(xq, xk, freqs_cis) : rotate_real(xq, xk, freqs_cis);
}

Tensor rotate_one(const Tensor& x, const Tensor& freqs_cis) {
  Tensor y;
  const Tensor numbers = as_complex(x);
  y = as_real(ghost::complex_mul(numbers, seen_as(freqs_cis, DType::float32,
                                                  {1, x.size(1), 1, freqs_cis.size(1), 2})),
              x.sizes());
  return y.to(x.dtype());
}

Tensor precompute_freqs_cis(Rope rope, std::int64_t width, std::int64_t max_seq_len) {
  const std::int64_t half = width / 2;
  const Tensor steps = ghost::arange(half, DType::int64);
  const Tensor freqs = ghost::reciprocal(ghost::pow(ghost::kBase, steps.to_float().div(2.0)));
  const Tensor t = ghost::arange(max_seq_len, DType::int64);
  const Tensor angles = t.to_float().view({max_seq_len, 1}).mul(freqs.view({1, half}));
  if (rope == Rope::complex) return ghost::polar_of_ones(angles);
  const Tensor doubled = ghost::cat({angles, angles}, -1);
  const Tensor cosines = ghost::cos(doubled), sines = ghost::sin(doubled);
  return ghost::cat({cosines, sines}, -1);
}

}  // namespace memtape::torchtitan
