// SPDX-License-Identifier: Apache-2.0
#include "framework/megatron/function.h"

#include <array>
#include <limits>

#include "ghost/autograd/engine.h"
#include "ghost/autograd/function.h"
#include "ghost/autograd/histories.h"
#include "ghost/ops/views.h"

namespace memtape::megatron {
namespace {

using ghost::Gradients;
using ghost::Node;
using ghost::Ptr;

constexpr std::size_t kMostSaved = 10;

/// A tensor that Python made has a Python object that counts as one more holder for as long as it
/// lives (PyObject preservation since PyTorch 2.10), so that the engine never adds to it in place.
void hold_for_python(const Tensor& made) {
  if (!made.defined() || !made.impl().storage || made.impl().base) return;
  const Tensor object = ghost::alias(made, made.sizes(), made.strides());
  object.impl().base.reset();
  made.impl().base = object.ptr();
}

struct FunctionBackward : Node {
  FunctionBackward(const char* node_name, Backward function, bool held)
      : Node(node_name), backward(std::move(function)), python_holds(held) {}
  void apply(Gradients& in, Gradients& out) override {
    std::array<Tensor, kMostSaved> kept;
    for (std::size_t i = 0; i < count; ++i)
      if (saved[i].defined()) kept[i] = saved[i].unpack();
    backward(std::span(kept).first(count), in[0], out);
    for (std::size_t i = 0; i < out.size(); ++i)
      if (python_holds && out[i].ptr() != in[0].ptr()) hold_for_python(out[i]);
  }
  void release() override {
    for (ghost::Saved& one : saved) one.reset();
  }

  Backward backward;
  bool python_holds;
  std::array<ghost::Saved, kMostSaved> saved;
  std::size_t count = 0;
};

struct KeepingBackward final : FunctionBackward, ghost::KeepsOwn {
  explicit KeepingBackward(FunctionCall& call)
      : FunctionBackward(call.name, std::move(call.backward), call.python_holds),
        kept(std::move(call.own)) {}
  std::span<const Tensor> own() const override { return *kept; }

  std::shared_ptr<std::vector<Tensor>> kept;
};

Ptr<FunctionBackward> node_of(FunctionCall& call) {
  const std::span<const Tensor> inputs(call.inputs);
  if (call.own) return ghost::function_node<KeepingBackward>(inputs, call);
  return ghost::function_node<FunctionBackward>(inputs, call.name, std::move(call.backward),
                                                call.python_holds);
}

/// The gradient's last stop: main_grad.add_(grad) takes no memory, and the gradient goes.
struct AddToMainGrad final : Node {
  AddToMainGrad() : Node("AccumulateGrad") {
    sequence = std::numeric_limits<std::uint64_t>::max();  // runs as soon as it is ready
  }
  void apply(Gradients&, Gradients&) override {}
  void release() override {}
};

}  // namespace

Tensor apply(FunctionCall call) {
  const Ptr<FunctionBackward> node = node_of(call);
  ToSave to_save;
  Tensor out;
  {
    const ghost::GradMode without(false);
    const ghost::Op op(call.name, {});
    out = call.forward(to_save);
  }
  if (!node || !out.defined()) return out;
  for (const Tensor& tensor : to_save) {
    if (node->count == kMostSaved) break;
    ghost::Saved& place = node->saved[node->count++];
    if (!tensor.defined()) continue;
    if (tensor.ptr() == out.ptr())
      place.keep_result(tensor);
    else
      place.keep(tensor);
  }
  ghost::set_history(out, node);
  return out;
}

Tensor checkpoint(const std::function<Tensor(std::span<const Tensor>)>& function,
                  const std::vector<Tensor>& inputs) {
  return apply({.name = "CheckpointFunctionBackward",
                .inputs = inputs,
                .forward =
                    [&](ToSave& save) {
                      save = inputs;
                      return function(inputs);
                    },
                .backward =
                    [function](std::span<const Tensor> saved, const Tensor& grad, Gradients& out) {
                      std::vector<Tensor> again;
                      for (const Tensor& tensor : saved) {
                        Tensor detached = tensor.defined() ? tensor.detach() : Tensor();
                        if (detached.defined())
                          detached.impl().requires_grad = detached.is_floating_point();
                        again.push_back(std::move(detached));
                      }
                      Tensor output;
                      {
                        const ghost::GradMode with(true);
                        output = function(again);
                      }
                      if (!output.defined() || !output.impl().grad_fn) return;
                      ghost::backward(output, grad);
                      for (std::size_t i = 0; i < again.size() && i < out.size(); ++i)
                        if (again[i].defined() && again[i].impl().grad) out[i] = again[i].grad();
                    }});
}

void accumulate_into_buffer(const Tensor& parameter) {
  ghost::set_history(parameter, ghost::make_node<AddToMainGrad>());
}

}  // namespace memtape::megatron
