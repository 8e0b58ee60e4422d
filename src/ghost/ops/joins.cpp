// SPDX-License-Identifier: Apache-2.0
#include "ghost/ops/joins.h"

#include <algorithm>
#include <iterator>

#include "ghost/autograd/node.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/iterator.h"
#include "ghost/ops/memory_format.h"
#include "ghost/ops/views.h"
#include "ghost/trace.h"

namespace memtape::ghost {
namespace {

/// cat_tensors_backward: each gradient is a narrow view of the whole.
struct CatBackward0 final : Node {
  explicit CatBackward0(int d) : Node("CatBackward0"), dimension(d) {}
  void apply(Gradients& in, Gradients& out) override {
    std::int64_t at = 0;
    for (std::size_t i = 0; i < edges.size(); ++i) {
      if (wants(i)) out[i] = in[0].slice(dimension, at, at + lengths[i]);
      at += lengths[i];
    }
  }
  void release() override {}
  int dimension;
  InlineVector<std::int64_t, 3> lengths;
};

/// split_backward: the gradients side by side, zeros where there is none.
struct SplitBackward0 final : Node {
  SplitBackward0(const char* node_name, const Dims& input, int d)
      : Node(node_name), sizes(input), dimension(d) {}
  void apply(Gradients& in, Gradients& out) override {
    std::vector<Tensor> pieces;
    for (std::size_t i = 0; i < in.size(); ++i) {
      if (!in[i].defined()) {
        Op op("zeros", {});
        pieces.push_back(empty(metadata[i].sizes, metadata[i].dtype));
      } else {
        pieces.push_back(in[i]);
      }
    }
    out[0] = cat(pieces, dimension);
  }
  void release() override {}
  Dims sizes;
  int dimension;
};

/// unbind_backward: the gradients stacked, zeros where there is none.
struct UnbindBackward0 final : Node {
  UnbindBackward0(const Dims& input, int d) : Node("UnbindBackward0"), sizes(input), dimension(d) {}
  void apply(Gradients& in, Gradients& out) override {
    Dims one = sizes;
    one[dimension] = 1;
    std::vector<Tensor> missing;
    for (std::size_t i = 0; i < in.size(); ++i)
      if (!in[i].defined()) missing.push_back(zeros(one, metadata[i].dtype));
    Op op("stack", {});
    out[0] = empty(sizes, metadata[0].dtype);
  }
  void release() override {}
  Dims sizes;
  int dimension;
};

/// stack_tensors_backward: each gradient is one slice of the whole.
struct StackBackward0 final : Node {
  StackBackward0() : Node("StackBackward0") {}
  void apply(Gradients& in, Gradients& out) override {
    for (std::size_t i = 0; i < edges.size(); ++i)
      if (wants(i)) out[i] = in[0].select(-1, static_cast<std::int64_t>(i));
  }
  void release() override {}
};

/// cat_should_skip_tensor: an empty tensor of one dimension goes with any other; only its dtype
/// counts.
bool is_skipped(const Tensor& tensor) { return tensor.dim() == 1 && tensor.size(0) == 0; }

Tensor cat_of(const std::vector<const Tensor*>& tensors, int d) {
  Session& s = session();
  const Tensor& shape = **std::find_if(tensors.begin(), std::prev(tensors.end()),
                                       [](const Tensor* t) { return !is_skipped(*t); });
  d = wrap(d, shape.dim());
  Dims sizes = shape.sizes();
  sizes[d] = 0;
  DType dtype = tensors.front()->dtype();
  bool wants_grad = false;
  // aten/src/ATen/native/TensorShape.cpp, cat_compute_output_memory_format
  const bool channels_last =
      std::ranges::all_of(tensors, [](const Tensor* t) { return lies_channels_last(*t); });
  for (const Tensor* t : tensors) {
    if (!is_skipped(*t)) sizes[d] += t->size(d);
    if (t->dtype() != dtype) dtype = promote(*tensors.front(), *t);
    wants_grad = wants_grad || t->requires_grad();
  }
  Op op("cat", {});
  for (const Tensor* t : tensors) traced_reads({t});
  Tensor out = channels_last ? empty_channels_last(sizes, dtype) : empty(sizes, dtype);
  if (wants_grad && s.grad_enabled && !s.skipping) {
    const Ptr<CatBackward0> node = make_node<CatBackward0>(d);
    for (const Tensor* t : tensors) {
      node->edges.push_back(gradient_edge(*t));
      node->lengths.push_back(is_skipped(*t) ? 0 : t->size(d));
    }
    set_history(out, node);
  }
  return out;
}

Tensor stack_of(const std::vector<const Tensor*>& tensors) {
  const Session& s = session();
  const Tensor& first = *tensors.front();
  Op op("stack", {});
  for (const Tensor* t : tensors) traced_reads({t});
  Tensor out = empty(first.sizes().with(static_cast<std::int64_t>(tensors.size())), first.dtype());
  bool wants_grad = false;
  for (const Tensor* t : tensors) wants_grad = wants_grad || t->requires_grad();
  if (wants_grad && s.grad_enabled && !s.skipping) {
    const Ptr<StackBackward0> node = make_node<StackBackward0>();
    for (const Tensor* t : tensors) node->edges.push_back(gradient_edge(*t));
    set_history(out, node);
  }
  return out;
}

}  // namespace

Tensor cat(std::initializer_list<In> tensors, int d) {
  std::vector<const Tensor*> pointers;
  for (const In& t : tensors) pointers.push_back(&*t);
  Tensor out = cat_of(pointers, d);
  for (const In& t : tensors) t.release();
  return out;
}

Tensor cat(const std::vector<Tensor>& tensors, int d) {
  std::vector<const Tensor*> pointers;
  for (const Tensor& t : tensors) pointers.push_back(&t);
  return cat_of(pointers, d);
}

Tensor stack_last(std::initializer_list<In> tensors) {
  std::vector<const Tensor*> pointers;
  for (const In& t : tensors) pointers.push_back(&*t);
  Tensor out = stack_of(pointers);
  for (const In& t : tensors) t.release();
  return out;
}

Tensor stack_last(const std::vector<Tensor>& tensors) {
  std::vector<const Tensor*> pointers;
  for (const Tensor& t : tensors) pointers.push_back(&t);
  return stack_of(pointers);
}

std::vector<Tensor> Tensor::split(std::span<const std::int64_t> lengths, int d) const {
  Op op("split", {});
  d = wrap(d, dim());
  Session& s = session();
  Ptr<Node> node;
  if (requires_grad() && s.grad_enabled && !s.skipping) {
    node = make_node<SplitBackward0>(lengths.size() > 1 && lengths.front() == lengths.back()
                                         ? "SplitBackward0"
                                         : "SplitWithSizesBackward0",
                                     sizes(), d);
    node->edges.push_back(gradient_edge(*this));
  }
  std::vector<Tensor> pieces;
  for (std::int64_t length : lengths) {
    Dims piece = sizes();
    piece[d] = length;
    pieces.push_back(alias(*this, piece, strides()));
    if (node) set_history(pieces.back(), node);
  }
  return pieces;
}

std::vector<Tensor> unbind(const Tensor& self, int d) {
  Op op("unbind", {});
  const Session& s = session();
  Ptr<Node> node;
  if (self.requires_grad() && s.grad_enabled && !s.skipping) {
    node = make_node<UnbindBackward0>(self.sizes(), d);
    node->edges.push_back(gradient_edge(self));
  }
  Dims sizes = self.sizes(), strides = self.strides();
  sizes.erase(d);
  strides.erase(d);
  std::vector<Tensor> elements;
  for (std::int64_t i = 0; i < self.size(d); ++i) {
    elements.push_back(alias(self, sizes, strides));
    if (node) set_history(elements.back(), node);
  }
  return elements;
}

std::vector<Tensor> Tensor::chunk(std::int64_t chunks, int d) const {
  std::int64_t left = size(d);
  const std::int64_t step = ceil_div(left, chunks);
  std::vector<std::int64_t> lengths;
  for (; left > 0; left -= step) lengths.push_back(std::min(step, left));
  return split(lengths, d);
}

}  // namespace memtape::ghost
