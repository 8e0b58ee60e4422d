// SPDX-License-Identifier: Apache-2.0
#include "ghost/autograd/node.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <string_view>
#include <vector>

#include "ghost/autograd/accumulate_grad.h"
#include "ghost/trace.h"

namespace memtape::ghost {
void note_kept(const Tensor& tensor) {
  if (!tensor.impl().storage) return;
  Reasons& reasons = session().tape.why;
  const BlockId block = tensor.impl().storage->block;
  if (reasons.category(block) != Category::temporary) return;
  Why why = reasons[block];
  why.category = Category::activation;
  why.node = session().keeper;
  reasons.set(block, why);
}

namespace {

Tensor without_history(const Tensor& tensor) {
  const TensorImpl& from = tensor.impl();
  auto* impl = make_impl();
  impl->dtype = from.dtype;
  impl->sizes = from.sizes;
  impl->strides = from.strides;
  impl->storage = from.storage;
  return Tensor(Ptr<TensorImpl>(impl));
}

}  // namespace

void Saved::keep(const Tensor& tensor) {
  if (SavedTensorHooks* hooks = session().hooks) {
    packed_ = hooks->pack(tensor);
    if (packed_ >= 0) {
      hooks_ = Ptr<SavedTensorHooks>(hooks);
      return;
    }
  }
  note_kept(tensor);
  tensor_ = tensor;
}

void Saved::keep_result(const Tensor& tensor) {
  if (session().hooks)
    keep(without_history(tensor));
  else {
    note_kept(tensor);
    tensor_ = without_history(tensor);
  }
}

Tensor Saved::unpack() const {
  if (packed_ >= 0 && !tensor_.defined()) {
    tensor_ = hooks_->unpack(packed_);
    session().unpacked.push_back(this);
  }
  return tensor_;
}

void Saved::reset() {
  tensor_.reset();
  if (packed_ >= 0) hooks_->drop(packed_);
  packed_ = -1;
  hooks_.reset();
}

TensorImpl* make_impl() { return new (Pool::take(sizeof(TensorImpl))) TensorImpl; }

void destroy(TensorImpl* impl) {
  impl->~TensorImpl();
  Pool::give(impl, sizeof(TensorImpl));
}

/// Nodes hold the nodes before them: a long chain is taken down in a loop, as torch's deleteNode
/// does, not by recursion.
void destroy(Node* node) {
  struct Queue {
    std::vector<Node*> waiting;
    bool busy = false;
  };
  static thread_local Queue queue;
  queue.waiting.push_back(node);
  if (queue.busy) return;
  queue.busy = true;
  while (!queue.waiting.empty()) {
    Node* next = queue.waiting.back();
    queue.waiting.pop_back();
    const std::size_t bytes = next->bytes;
    next->~Node();
    Pool::give(next, bytes);
  }
  queue.busy = false;
}

Edge gradient_edge(const Tensor& tensor) {
  if (!tensor.defined()) return {};
  TensorImpl& impl = tensor.impl();
  if (impl.grad_fn) return {impl.grad_fn, impl.output_nr};
  if (!impl.requires_grad) return {};
  return {grad_accumulator(tensor), 0};
}

void set_history(const Tensor& tensor, const Ptr<Node>& node) {
  TensorImpl& impl = tensor.impl();
  impl.grad_fn = node;
  impl.output_nr = static_cast<std::uint32_t>(node->metadata.size());
  node->metadata.push_back({impl.sizes, impl.dtype});
}

namespace {

/// _is_view_op, for what reads no data of a collective's result.
bool is_view(std::string_view op) {
  constexpr std::array<std::string_view, 11> kViews{"view",    "transpose", "permute", "unsqueeze",
                                                    "squeeze", "expand",    "slice",   "select",
                                                    "detach",  "alias",     "t"};
  return std::find(kViews.begin(), kViews.end(), op) != kViews.end();
}

void wait_for(const Ptr<Storage>& storage) {
  std::erase_if(session().pending_collectives, [&](const Session::PendingCollective& pending) {
    return pending.result.get() == storage.get();
  });
}

}  // namespace

Op::Op(const char* name, std::initializer_list<const In*> operands, Role role)
    : outer_(session().op), outer_role_(session().role) {
  Session& s = session();
  if (!s.pending_collectives.empty() && !is_view(name))
    for (const In* operand : operands)
      if (operand && (*operand)->defined()) wait_for((*operand)->impl().storage);
  assert(operands.size() <= operands_.size());
  // An op inside an op (a composite one) is billed to the inner: that is what torch's own traces
  // show.
  s.op = name;
  s.role = role;
  std::size_t i = 0;
  for (const In* operand : operands) {
    operands_[i++] = operand;
    if (operand && (*operand)->defined() && (*operand)->requires_grad()) differentiable_ = true;
  }
  differentiable_ = differentiable_ && s.grad_enabled && !s.skipping;
  if (Trace* const trace = Trace::current()) {
    trace->begin(name);
    for (const In* operand : operands)
      if (operand) trace->read(**operand);
  }
}

Op::~Op() {
  if (Trace* const trace = Trace::current()) trace->end();
  session().op = outer_;
  session().role = outer_role_;
  for (const In* operand : operands_)
    if (operand) operand->release();
}

}  // namespace memtape::ghost
