// SPDX-License-Identifier: Apache-2.0
#include "ggml/graph.h"

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace memtape::ggml {
namespace {

/// Sizes beyond this are not a model's but a damaged file's.
constexpr std::int64_t kMostElements = std::int64_t{1} << 50;

bool is_sane(const Extents& ne) {
  std::int64_t product = 1;
  for (const std::int64_t n : ne) {
    if (n < 0 || n > kMostElements || (n > 0 && product > kMostElements / n)) return false;
    product *= n > 0 ? n : 1;
  }
  return true;
}

}  // namespace

void Graph::fail(std::string what) {
  if (failure_.empty()) failure_ = std::move(what);
}

Tensor* Graph::tensor(Type type, Extents ne) {
  if (!is_sane(ne)) {
    fail(fmt::format("a tensor of [{}] elements", fmt::join(ne, ", ")));
    ne = {1, 1, 1, 1};
  }
  Tensor& made = arena_.emplace_back();
  made.type = type;
  made.id = static_cast<int>(arena_.size()) - 1;
  made.ne = ne;
  set_strides(made);
  return &made;
}

Tensor* Graph::input(Type type, Extents ne) {
  Tensor* made = tensor(type, ne);
  made->input = true;
  return made;
}

Tensor* Graph::like(const Tensor& other) {
  Tensor* made = tensor(other.type, other.ne);
  made->nb = other.nb;
  return made;
}

Tensor* Graph::view_of(Tensor* a, Bytes offset) {
  Tensor* made = like(*a);
  made->view_src = a->view_src ? a->view_src : a;
  made->view_offset = offset + (a->view_src ? a->view_offset : 0);
  return made;
}

Tensor* Graph::alias(Tensor* of) {
  Tensor* made = view_of(of, 0);
  made->src[0] = of;
  return made;
}

Tensor* Graph::made(Op op, Type type, Extents ne, std::initializer_list<Tensor*> sources) {
  Tensor* made = tensor(type, ne);
  made->op = op;
  std::size_t at = 0;
  for (Tensor* source : sources) made->src[at++] = source;
  return made;
}

void Graph::expand(Tensor* tensor, bool compute) { visit(tensor, compute); }

Tensor* Graph::select(std::initializer_list<Tensor*> tensors, std::size_t chosen) {
  std::size_t at = 0;
  for (Tensor* tensor : tensors) expand(tensor, at++ == chosen);
  return *(tensors.begin() + chosen);
}

/// ggml.c, ggml_visit_parents_graph.
void Graph::visit(Tensor* tensor, bool compute) {
  if (tensor->op != Op::none && compute) tensor->compute = true;
  if (tensor->visited) {
    if (!compute) return;
    for (Tensor* source : tensor->src)
      if (source && !source->compute && source->op != Op::none) visit(source, true);
    return;
  }
  tensor->visited = true;
  for (Tensor* source : tensor->src) {
    if (!source) continue;
    visit(source, compute);
    ++source->uses;
  }
  (tensor->op == Op::none ? leafs_ : nodes_).push_back(tensor);
}

bool Graph::wants(bool condition, const char* op, const Tensor* a, const Tensor* b) {
  if (condition) return true;
  fail(b ? fmt::format("{} of [{}] and [{}]", op, fmt::join(a->ne, ", "), fmt::join(b->ne, ", "))
         : fmt::format("{} of [{}]", op, fmt::join(a->ne, ", ")));
  return false;
}

}  // namespace memtape::ggml
