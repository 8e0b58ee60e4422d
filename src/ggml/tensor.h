// SPDX-License-Identifier: Apache-2.0
// Tensor: ggml's tensor without data: its type, extents and strides, the op that makes it, and its
// sources (ggml.h, struct ggml_tensor). A tensor with a buffer, such as a weight or a cache, lies
// outside of the graph's own memory. The tensor tells everything that decides where a graph's
// memory goes.
#pragma once

#include <array>
#include <cstdint>

#include "ggml/buffer_type.h"
#include "ggml/type.h"

namespace memtape::ggml {

enum class Op : std::uint8_t {
  none,
  add,
  add_id,
  argsort,
  clamp,
  concat,
  cont,
  cpy,
  cumsum,
  diag,
  div,
  fill,
  flash_attn_ext,
  gated_delta_net,
  gated_linear_attn,
  get_rows,
  glu,
  group_norm,
  l2_norm,
  lightning_indexer,
  mean,
  mul,
  mul_mat,
  mul_mat_id,
  norm,
  pad,
  permute,
  repeat,
  reshape,
  rms_norm,
  rope,
  rwkv_wkv6,
  rwkv_wkv7,
  scale,
  set,
  set_rows,
  soft_max,
  solve_tri,
  sqr,
  sqrt,
  ssm_conv,
  ssm_scan,
  sub,
  sum_rows,
  top_k,
  transpose,
  tri,
  unary,
  view,
};

enum class Unary : std::uint8_t { silu, gelu, relu, sigmoid, tanh, softplus, exp, neg, xielu };
enum class Glu : std::uint8_t { reglu, geglu, swiglu, swiglu_oai };

inline constexpr int kMaxDims = 4;
inline constexpr int kMaxSources = 10;
using Extents = std::array<std::int64_t, kMaxDims>;

struct Tensor {
  Type type = Type::f32;
  Op op = Op::none;
  std::uint8_t kind = 0;  ///< the Unary or Glu of the op
  bool input = false;     ///< the program fills it before the graph runs
  bool output = false;    ///< the program reads it afterwards, so it is never overwritten
  bool compute = false;   ///< it was reached from a tensor that is computed
  bool visited = false;   ///< the graph has visited it
  bool plain = true;      ///< soft_max: without scale and ALiBi; mul_mat_id: in default precision
  int id = 0;             ///< its number in its arena
  int uses = 0;           ///< how often the graph's nodes have it as a source
  int concat_dim = 0;
  float max_bias = 0;  ///< of attention with linear biases
  Extents ne{1, 1, 1, 1};
  std::array<Bytes, kMaxDims> nb{};
  std::array<Tensor*, kMaxSources> src{};
  Tensor* view_src = nullptr;  ///< the tensor that it is a view of, which is never a view itself
  Bytes view_offset = 0;
  const BufferType* buffer = nullptr;  ///< where it lies, unless in the graph's memory
  bool weight = false;                 ///< its buffer holds weights

  std::int64_t elements() const { return ne[0] * ne[1] * ne[2] * ne[3]; }
  std::int64_t rows() const { return ne[1] * ne[2] * ne[3]; }
  bool is_view() const { return view_src != nullptr; }
  const BufferType* held_in() const { return view_src ? view_src->buffer : buffer; }
};

/// Sets the strides of a tensor without gaps, by its type and extents.
void set_strides(Tensor& tensor);
/// The bytes from the first to the last element, according to the strides.
Bytes bytes_of(const Tensor& tensor);
bool is_contiguous(const Tensor& tensor);
/// Whether it is contiguous from that dimension on: 1 for rows, 2 for matrices.
bool is_contiguous_from(const Tensor& tensor, int dimension);
bool has_contiguous_rows(const Tensor& tensor);
bool same_shape(const Tensor& a, const Tensor& b);
bool same_layout(const Tensor& a, const Tensor& b);

/// Whether the op only shows its source in another way.
inline bool is_view_op(Op op) {
  return op == Op::view || op == Op::reshape || op == Op::permute || op == Op::transpose;
}

}  // namespace memtape::ggml
