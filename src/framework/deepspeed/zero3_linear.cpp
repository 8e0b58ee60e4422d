// SPDX-License-Identifier: Apache-2.0
#include "framework/deepspeed/zero3_linear.h"

#include <memory>
#include <utility>

#include "ghost/autograd/function.h"
#include "ghost/ops/matmul.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"

namespace memtape::deepspeed {
namespace {

using ghost::Tensor;

/// The rows of a tensor as a matrix.
Tensor as_matrix(const Tensor& x) { return x.reshape({-1, x.size(-1)}); }

struct LinearBackward final : ghost::Node {
  LinearBackward() : Node("LinearFunctionForZeroStage3Backward") {}
  void apply(ghost::Gradients& in, ghost::Gradients& out) override {
    const Tensor x = input.unpack(), w = weight.unpack();
    const Tensor& grad = in[0];
    if (wants(0)) out[0] = grad.matmul(w);
    if (wants(1)) out[1] = as_matrix(grad).t().matmul(as_matrix(x));
    if (edges.size() > 2 && wants(2)) out[2] = ghost::sum_to(grad, {grad.size(-1)});
  }
  void release() override {
    input.reset();
    weight.reset();
  }
  ghost::Saved input, weight;
};

class Zero3Linear final : public nn::ForwardPatch {
 public:
  explicit Zero3Linear(nn::Linear& layer) : layer_(layer) {}

  Tensor forward(const Tensor& x) override {
    const Tensor &weight = layer_.weight, &bias = layer_.bias;
    const auto node = bias.defined() ? ghost::function_node<LinearBackward>({&x, &weight, &bias})
                                     : ghost::function_node<LinearBackward>({&x, &weight});
    Tensor output;
    {
      const ghost::GradMode no_grad(false);
      if (x.dim() == 2 && bias.defined()) {
        output = ghost::addmm(bias, x, weight.t());
      } else {
        output = x.matmul(weight.t());
        if (bias.defined()) ghost::add_(output, bias);
      }
    }
    if (!node) return output;
    ghost::set_history(output, node);
    node->input.keep(x);
    node->weight.keep(weight);
    return output;
  }

 private:
  nn::Linear& layer_;
};

/// Where a layer makes its own product: of an adapted one that is its first child.
nn::ModuleNode& product_of(nn::ModuleNode& node, const nn::Linear& linear) {
  return linear.adapter ? *node.children.front() : node;
}

}  // namespace

void use_memory_efficient_linear(nn::ModuleNode& root) {
  for (const nn::NamedModule& module : nn::named_modules(root))
    if (auto* linear = dynamic_cast<nn::Linear*>(module.node->projection);
        linear && !linear->kernel)
      product_of(*module.node, *linear).patch = std::make_unique<Zero3Linear>(*linear);
}

}  // namespace memtape::deepspeed
