// SPDX-License-Identifier: Apache-2.0
#include "ggml/assignment.h"

#include <algorithm>

namespace memtape::ggml {

Assignment::Assignment(const Graph& graph, const SchedulerSetup& setup, const Pins& pins)
    : graph_(graph), setup_(setup), ids_(static_cast<std::size_t>(graph.tensors()), -1) {
  for (const auto& [tensor, backend] : pins) id(tensor) = backend;
}

void Assignment::run() {
  for (const Tensor* leaf : graph_.leafs())
    if (id(leaf) == -1) id(leaf) = from_data(*leaf);
  for (const Tensor* node : graph_.nodes())
    if (id(node) == -1) id(node) = from_data(*node);
  spread(true, true);
  spread(false, true);
  spread(true, false);
  spread(false, false);
  for (const Tensor* node : graph_.nodes())
    if (!is_view_op(node->op)) id(node) == -1 ? find_best(*node) : upgrade(*node);
  for (const Tensor* node : graph_.nodes()) finish(*node);
}

/// The first backend that can use the buffer that `t` is in, for `op`.
int Assignment::holder_of(const Tensor& t, const Tensor& op) const {
  const BufferType* buffer = t.held_in();
  if (!buffer) return -1;
  for (int b = 0; b <= cpu(); ++b)
    if (backend(b).supports_buffer(*buffer) && backend(b).supports_op(op)) return b;
  return -1;
}

/// Pass 1: what is in a buffer stays with it, inputs are the CPU's, weights draw their op.
int Assignment::from_data(const Tensor& t) const {
  if (const int holder = holder_of(t, t); holder != -1) return holder;
  if (t.input) return cpu();
  return from_weights(t);
}

int Assignment::from_weights(const Tensor& t) const {
  // the factors of rope and the sinks of attention are too small to decide
  if (t.op == Op::rope || t.op == Op::flash_attn_ext) return -1;
  for (const Tensor* source : t.src) {
    if (!source || !source->buffer || !source->weight) continue;
    const int holder = holder_of(*source, t);
    if (setup_.op_offload && holder == cpu() && source->buffer->is_host())
      for (int b = 0; b < holder; ++b)
        if (backend(b).supports_op(t) && backend(b).offloads(t)) return b;
    return holder;
  }
  return -1;
}

/// Pass 2: neighbours follow, GPUs first.
void Assignment::spread(bool forward, bool skip_cpu) {
  const auto& nodes = graph_.nodes();
  int current = -1;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const Tensor* node = nodes[forward ? i : nodes.size() - 1 - i];
    if (is_view_op(node->op)) continue;
    if (id(node) != -1)
      current = skip_cpu && id(node) == cpu() ? -1 : id(node);
    else if (current != -1 && backend(current).supports_op(*node))
      id(node) = current;
  }
}

/// Pass 3, for what no neighbour could take: the backend that can read most of its sources.
void Assignment::find_best(const Tensor& node) {
  int most = -1;
  for (int b = 0; b <= cpu(); ++b) {
    if (!backend(b).supports_op(node)) continue;
    int readable = 0;
    for (const Tensor* source : node.src)
      if (source && (of(source) != -1 || (source->view_src && of(source->view_src) != -1)) &&
          can_read(*source, b))
        ++readable;
    if (readable <= most) continue;
    most = readable;
    id(&node) = b;
  }
}

/// Pass 3, for the others: a backend before it that writes to the same buffer type.
void Assignment::upgrade(const Tensor& node) {
  const int own = id(&node);
  for (int b = 0; b < own; ++b) {
    if (setup_.buffers[static_cast<std::size_t>(b)] !=
            setup_.buffers[static_cast<std::size_t>(own)] ||
        !backend(b).supports_op(node))
      continue;
    if (std::ranges::all_of(node.src, [&](const Tensor* s) { return !s || can_read(*s, b); })) {
      id(&node) = b;
      return;
    }
  }
}

/// Pass 4: sources go where their user is, views where their base is.
void Assignment::finish(const Tensor& node) {
  int& own = id(&node);
  if (node.view_src && own == -1) own = of(node.view_src);
  for (const Tensor* source : node.src)
    if (source && id(source) == -1) id(source) = source->view_src ? of(source->view_src) : own;
  for (int b = 0; b <= cpu() && own == -1; ++b)
    if (backend(b).supports_op(node)) own = b;
}

bool Assignment::can_read(const Tensor& t, int b) const {
  const BufferType* type = t.held_in();
  if (!type) {
    int where = of(&t);
    if (where == -1 && t.view_src) where = of(t.view_src);
    if (where != -1) type = setup_.buffers[static_cast<std::size_t>(where)];
  }
  return type && backend(b).supports_buffer(*type);
}

}  // namespace memtape::ggml
