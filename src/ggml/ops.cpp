// SPDX-License-Identifier: Apache-2.0
// ggml's ops (ggml.c): what each one's result looks like and which sources it keeps.
#include "ggml/graph.h"

namespace memtape::ggml {
namespace {

bool can_repeat(const Tensor& a, const Extents& ne) {
  for (std::size_t i = 0; i < kMaxDims; ++i)
    if (a.ne[i] <= 0 || ne[i] % a.ne[i] != 0) return false;
  return true;
}

bool can_mul_mat(const Tensor& a, const Tensor& b) {
  return a.ne[0] == b.ne[0] && a.ne[2] > 0 && a.ne[3] > 0 && b.ne[2] % a.ne[2] == 0 &&
         b.ne[3] % a.ne[3] == 0;
}

}  // namespace

Tensor* Graph::elementwise(Op op, Tensor* a, Tensor* b) {
  if (!wants(can_repeat(*b, a->ne), "elementwise", a, b)) return a;
  return made(op, a->type, a->ne, {a, b});
}

Tensor* Graph::add_id(Tensor* a, Tensor* b, Tensor* ids) {
  if (!wants(a->ne[0] == b->ne[0] && a->ne[1] == ids->ne[0], "add_id", a, b)) return a;
  return made(Op::add_id, a->type, a->ne, {a, b, ids});
}

Tensor* Graph::scale_inplace(Tensor* a) {
  Tensor* result = view_of(a, 0);
  result->op = Op::scale;
  result->src[0] = a;
  return result;
}

Tensor* Graph::unary(Unary kind, Tensor* a) {
  Tensor* result = alike(Op::unary, a);
  result->kind = static_cast<std::uint8_t>(kind);
  return result;
}

Tensor* Graph::glu(Glu kind, Tensor* a) {
  Tensor* result = made(Op::glu, a->type, {a->ne[0] / 2, a->ne[1], a->ne[2], a->ne[3]}, {a});
  result->kind = static_cast<std::uint8_t>(kind);
  return result;
}

Tensor* Graph::glu(Glu kind, Tensor* gate, Tensor* up) {
  if (!wants(same_shape(*gate, *up), "glu", gate, up)) return gate;
  Tensor* result = made(Op::glu, gate->type, gate->ne, {gate, up});
  result->kind = static_cast<std::uint8_t>(kind);
  return result;
}

Tensor* Graph::by_row(Op op, Tensor* a) {
  return made(op, a->type, {1, a->ne[1], a->ne[2], a->ne[3]}, {a});
}

Tensor* Graph::mul_mat(Tensor* a, Tensor* b) {
  if (!a) {
    fail("a matrix that the model does not have");
    return b;
  }
  if (!wants(can_mul_mat(*a, *b), "mul_mat", a, b)) return b;
  return made(Op::mul_mat, Type::f32, {a->ne[1], b->ne[1], b->ne[2], b->ne[3]}, {a, b});
}

Tensor* Graph::mul_mat_id(Tensor* as, Tensor* b, Tensor* ids) {
  if (!as) {
    fail("experts that the model does not have");
    return b;
  }
  if (!wants(as->ne[0] == b->ne[0] && ids->ne[1] == b->ne[2], "mul_mat_id", as, b)) return b;
  return made(Op::mul_mat_id, Type::f32, {as->ne[1], ids->ne[0], b->ne[2], 1}, {as, b, ids});
}

Tensor* Graph::rope(Tensor* a, Tensor* positions, Tensor* factors) {
  return made(Op::rope, a->type, a->ne, {a, positions, factors});
}

Tensor* Graph::soft_max(Tensor* a) { return alike(Op::soft_max, a); }

Tensor* Graph::soft_max(Tensor* a, Tensor* mask, float max_bias) {
  Tensor* result = made(Op::soft_max, a->type, a->ne, {a, mask});
  result->plain = false;
  result->max_bias = max_bias;
  return result;
}

Tensor* Graph::flash_attention(Tensor* q, Tensor* k, Tensor* v, Tensor* mask) {
  if (!wants(can_mul_mat(*k, *q), "flash_attn_ext", q, k)) return q;
  return made(Op::flash_attn_ext, Type::f32, {v->ne[0], q->ne[2], q->ne[1], q->ne[3]},
              {q, k, v, mask});
}

Tensor* Graph::argsort_top_k(Tensor* a, std::int64_t k) {
  if (!wants(k > 0 && k <= a->ne[0], "argsort_top_k", a)) return a;
  Tensor* sorted = made(Op::argsort, Type::i32, a->ne, {a});
  return view(sorted, {.ne = {k, sorted->ne[1], sorted->ne[2], sorted->ne[3]},
                       .nb1 = sorted->nb[1],
                       .nb2 = sorted->nb[2],
                       .nb3 = sorted->nb[3]});
}

Tensor* Graph::get_rows(Tensor* a, Tensor* rows) {
  return made(Op::get_rows, a->type == Type::i32 ? Type::i32 : Type::f32,
              {a->ne[0], rows->ne[0], rows->ne[1], rows->ne[2]}, {a, rows});
}

Tensor* Graph::set_rows(Tensor* a, Tensor* b, Tensor* rows) {
  if (!wants(a->ne[0] == b->ne[0] && b->ne[1] == rows->ne[0], "set_rows", a, b)) return a;
  Tensor* result = view_of(a, 0);
  result->op = Op::set_rows;
  result->src = {b, rows, a};
  return result;
}

Tensor* Graph::concat(Tensor* a, Tensor* b, int dimension) {
  const auto at = static_cast<std::size_t>(dimension);
  Extents ne = a->ne;
  ne[at] += b->ne[at];
  Extents other = b->ne;
  other[at] = a->ne[at];
  if (!wants(other == a->ne, "concat", a, b)) return a;
  Tensor* result = made(Op::concat, a->type, ne, {a, b});
  result->concat_dim = dimension;
  return result;
}

Tensor* Graph::repeat(Tensor* a, Extents ne) {
  if (!wants(can_repeat(*a, ne), "repeat", a)) return a;
  return made(Op::repeat, a->type, ne, {a});
}

Tensor* Graph::pad(Tensor* a, Extents by) {
  return made(Op::pad, a->type,
              {a->ne[0] + by[0], a->ne[1] + by[1], a->ne[2] + by[2], a->ne[3] + by[3]}, {a});
}

Tensor* Graph::cont(Tensor* a, Extents ne) { return made(Op::cont, a->type, ne, {a}); }

Tensor* Graph::cpy(Tensor* a, Tensor* b) {
  if (!wants(a->elements() == b->elements(), "cpy", a, b)) return a;
  Tensor* result = view_of(b, 0);
  result->op = Op::cpy;
  result->src[0] = a;
  result->src[1] = b;
  return result;
}

/// Its second source is itself, which ggml's backends want; a graph walk meets it as visited.
Tensor* Graph::cast(Tensor* a, Type type) {
  Tensor* result = made(Op::cpy, type, a->ne, {a});
  result->src[1] = result;
  return result;
}

Tensor* Graph::ssm_conv(Tensor* x, Tensor* kernel) {
  if (!wants(x->ne[1] == kernel->ne[1] && x->ne[0] >= kernel->ne[0] - 1, "ssm_conv", x, kernel))
    return x;
  return made(Op::ssm_conv, Type::f32, {kernel->ne[1], x->ne[0] - kernel->ne[0] + 1, x->ne[2], 1},
              {x, kernel});
}

Tensor* Graph::ssm_scan(const Scan& s) {
  const std::int64_t states = s.state->ne[0] * s.state->ne[1] * s.state->ne[2] * s.ids->ne[0];
  return made(Op::ssm_scan, Type::f32, {s.x->elements() + states, 1, 1, 1},
              {s.state, s.x, s.dt, s.a, s.b, s.c, s.ids});
}

Tensor* Graph::gated_delta_net(const DeltaNet& n, std::int64_t snapshots) {
  const Extents& v = n.v->ne;
  return made(Op::gated_delta_net, Type::f32,
              {v[0] * v[1], v[2] * v[3] + snapshots * v[0] * v[3], 1, 1},
              {n.q, n.k, n.v, n.gate, n.beta, n.state});
}

/// By heads and tokens like the first source; the last one is the states.
Tensor* Graph::recurrence(Op op, std::initializer_list<Tensor*> sources) {
  const Tensor &x = **sources.begin(), &states = **(sources.end() - 1);
  const std::int64_t width = x.ne[0] * x.ne[1];
  return made(op, Type::f32, {width, x.ne[2] + states.elements() / width, 1, 1}, sources);
}

Tensor* Graph::rwkv_wkv6(std::initializer_list<Tensor*> sources) {
  return recurrence(Op::rwkv_wkv6, sources);
}

Tensor* Graph::rwkv_wkv7(std::initializer_list<Tensor*> sources) {
  return recurrence(Op::rwkv_wkv7, sources);
}

Tensor* Graph::gated_linear_attn(std::initializer_list<Tensor*> sources) {
  return recurrence(Op::gated_linear_attn, sources);
}

Tensor* Graph::lightning_indexer(Tensor* q, Tensor* k, Tensor* weights, Tensor* mask) {
  return made(Op::lightning_indexer, Type::f32, {k->ne[2], q->ne[2], 1, q->ne[3]},
              {q, k, weights, mask});
}

Tensor* Graph::top_k(Tensor* a, std::int64_t k) {
  if (!wants(k > 0 && k <= a->ne[0], "top_k", a)) return a;
  return made(Op::top_k, Type::i32, {k, a->ne[1], a->ne[2], a->ne[3]}, {a});
}

Tensor* Graph::reshape(Tensor* a, Extents ne) {
  const std::int64_t elements = ne[0] * ne[1] * ne[2] * ne[3];
  if (!wants(elements == a->elements(), "reshape", a)) return a;
  Tensor* result = view_of(a, 0);
  const Tensor* shape = tensor(a->type, ne);
  result->ne = shape->ne;
  result->nb = shape->nb;
  result->op = Op::reshape;
  result->src[0] = a;
  return result;
}

Tensor* Graph::view(Tensor* a, const Window& window) {
  Tensor* result = view_of(a, window.offset);
  result->ne = window.ne;
  result->nb = {block_bytes(a->type), window.nb1, window.nb2, window.nb3};
  result->op = Op::view;
  result->src[0] = a;
  return result;
}

Tensor* Graph::view_1d(Tensor* a, std::int64_t n, Bytes offset) {
  const Bytes row = row_size(a->type, n);
  return view(a, {.ne = {n, 1, 1, 1}, .nb1 = row, .nb2 = row, .nb3 = row, .offset = offset});
}

Tensor* Graph::view_2d(Tensor* a, Extents ne, Bytes nb1, Bytes offset) {
  return view(a, {.ne = ne, .nb1 = nb1, .nb2 = nb1 * ne[1], .nb3 = nb1 * ne[1], .offset = offset});
}

Tensor* Graph::view_3d(Tensor* a, Extents ne, Bytes nb1, Bytes nb2, Bytes offset) {
  return view(a, {.ne = ne, .nb1 = nb1, .nb2 = nb2, .nb3 = nb2 * ne[2], .offset = offset});
}

Tensor* Graph::permute(Tensor* a, std::array<int, kMaxDims> axes) {
  Tensor* result = view_of(a, 0);
  for (std::size_t i = 0; i < kMaxDims; ++i) {
    result->ne[static_cast<std::size_t>(axes[i])] = a->ne[i];
    result->nb[static_cast<std::size_t>(axes[i])] = a->nb[i];
  }
  result->op = Op::permute;
  result->src[0] = a;
  return result;
}

Tensor* Graph::transpose(Tensor* a) {
  Tensor* result = view_of(a, 0);
  std::swap(result->ne[0], result->ne[1]);
  std::swap(result->nb[0], result->nb[1]);
  result->op = Op::transpose;
  result->src[0] = a;
  return result;
}

}  // namespace memtape::ggml
