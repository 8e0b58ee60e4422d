// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/axolotl/lora_functions.h"

#include <cstddef>
#include <utility>

#include "framework/transformers/dequantized_for_product.h"
#include "ghost/autograd/node.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/matmul.h"

namespace memtape::transformers::axolotl {
namespace {

using ghost::Gradients;
using ghost::Op;

Tensor dequantize(const nn::Projection& layer) {
  return dequantized_for_product(layer, "dequantize");
}

Tensor rows_of(const Tensor& x) { return x.view({-1, x.size(-1)}); }

/// out.addmm_(left, right): no memory but cuBLAS's.
void add_product(const ghost::In& left, const ghost::In& right) {
  ghost::use_cublas();
  left.release();
  right.release();
}

/// matmul_lora of rows; weight, A and B are given as they are multiplied.
Tensor matmul_lora(const Tensor& rows, Tensor weight, const Tensor& lora_rows, const Tensor& A,
                   const Tensor& B) {
  Tensor out = rows.matmul(weight);
  weight = {};
  const Tensor a = A.to(rows.dtype()), b = B.to(rows.dtype());
  add_product(lora_rows.matmul(a), b);
  return out;
}

Tensor forward_product(const Tensor& rows, const Tensor& lora_rows, const LoraParameters& given) {
  return matmul_lora(rows, dequantize(*given.layer).t(), lora_rows, given.A.t(), given.B.t());
}

/// An adapter as ctx keeps it: already cast.
struct KeptAdapter {
  void keep(const LoraParameters& given, DType dtype) {
    A.keep(given.A.to(dtype));
    B.keep(given.B.to(dtype));
  }
  void reset() {
    A.reset();
    B.reset();
  }
  ghost::Saved A, B;
};

struct AdapterGradients {
  Tensor grad_B, d_A, d_B;
};

/// grad @ B, which the input's gradient needs again, and what it makes of the two matrices.
AdapterGradients adapter_gradients(const Tensor& lora_rows, const Tensor& grad, const Tensor& A,
                                   const Tensor& B) {
  AdapterGradients made;
  made.grad_B = grad.matmul(B);
  made.d_A = ghost::empty(A.sizes(), A.dtype());
  made.d_B = ghost::empty(B.sizes(), B.dtype());
  add_product(lora_rows.t(), made.grad_B);
  add_product(A.matmul(lora_rows.t()), grad);
  return made;
}

/// The rows that x and its dropped stand-in are kept and handed on as.
struct Inputs {
  Inputs(const Tensor& x, const Tensor& dropped)
      : rows(rows_of(x)), lora_rows(dropped.defined() ? rows_of(dropped) : rows) {}
  Tensor rows, lora_rows;
};

/// What all three functions have in common: kept inputs, and edges to x, its dropped stand-in, and
/// the adapters' matrices in turn.
struct FusedBackward : ghost::Node {
  FusedBackward(const char* node_name, std::span<const LoraParameters> given)
      : Node(node_name), adapters(given.size()) {
    for (const LoraParameters& one : given) layers.push_back(one.layer);
  }
  void keep(const Tensor& x, const Tensor& dropped, std::span<const LoraParameters> given) {
    has_dropout = dropped.defined();
    input.keep(x);
    lora_input.keep(has_dropout ? dropped : x);
    for (std::size_t i = 0; i < given.size(); ++i) adapters[i].keep(given[i], x.dtype());
  }
  void release() override {
    input.reset();
    lora_input.reset();
    for (KeptAdapter& adapter : adapters) adapter.reset();
  }
  /// The adapters' gradients, once all are made.
  void give(const std::vector<AdapterGradients>& made, Gradients& out) const {
    for (std::size_t i = 0; i < made.size(); ++i) {
      out[2 + 2 * i] = made[i].d_A;
      out[3 + 2 * i] = made[i].d_B;
    }
  }
  std::vector<const nn::Projection*> layers;
  ghost::Saved input, lora_input;
  std::vector<KeptAdapter> adapters;
  bool has_dropout = false;
};

struct ProjectionsBackward final : FusedBackward {
  using FusedBackward::FusedBackward;
  void apply(Gradients& in, Gradients& out) override {
    const Tensor x = input.unpack(), kept = lora_input.unpack();
    std::vector<std::pair<Tensor, Tensor>> matrices;
    for (const KeptAdapter& adapter : adapters)
      matrices.emplace_back(adapter.A.unpack(), adapter.B.unpack());
    const Tensor lora_rows = rows_of(kept);
    std::vector<AdapterGradients> made;
    for (std::size_t i = 0; i < layers.size(); ++i)
      made.push_back(adapter_gradients(lora_rows, rows_of(in[i].contiguous()), matrices[i].first,
                                       matrices[i].second));
    Tensor grad_x;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const Tensor grad = rows_of(in[i]), weight = dequantize(*layers[i]);
      if (grad_x.defined())
        add_product(grad, weight);
      else
        grad_x = grad.matmul(weight);
    }
    if (has_dropout) out[1] = ghost::zeros_like(lora_rows).view(x.sizes());
    for (std::size_t i = 0; i < layers.size(); ++i) add_product(made[i].grad_B, matrices[i].first);
    out[0] = grad_x.view(x.sizes());
    give(made, out);
  }
};

struct OutputBackward final : FusedBackward {
  using FusedBackward::FusedBackward;
  void apply(Gradients& in, Gradients& out) override {
    const Tensor A = adapters[0].A.unpack(), B = adapters[0].B.unpack();
    const Tensor x = input.unpack(), kept = lora_input.unpack();
    const Tensor grad = rows_of(in[0].contiguous());
    const AdapterGradients made = adapter_gradients(rows_of(kept), grad, A, B);
    Tensor dx;
    {
      const Tensor weight = dequantize(*layers[0]);
      dx = grad.matmul(weight);
    }
    if (has_dropout)
      out[1] = made.grad_B.matmul(A).mul(2.0).view(x.sizes());
    else
      add_product(made.grad_B, A);
    out[0] = dx.view(x.sizes());
    give({made}, out);
  }
};

constexpr std::size_t kGate = 0, kUp = 1, kDown = 2;

struct MlpBackward final : FusedBackward {
  using FusedBackward::FusedBackward;
  void apply(Gradients& in, Gradients& out) override {
    const Tensor x = input.unpack(), kept = lora_input.unpack();
    const Tensor grad_gate = rows_of(gate.unpack()), grad_up = rows_of(up.unpack());
    std::vector<std::pair<Tensor, Tensor>> matrices;
    for (const KeptAdapter& adapter : adapters)
      matrices.emplace_back(adapter.A.unpack(), adapter.B.unpack());
    const Tensor grad = rows_of(in[0]), lora_rows = rows_of(kept);
    // It becomes the product again, gate and up their gradients.
    const Tensor h = matmul_lora(grad, dequantize(*layers[kDown]), grad, matrices[kDown].second,
                                 matrices[kDown].first);
    std::vector<AdapterGradients> made(3);
    const auto gradients = [&](std::size_t i, const Tensor& rows, const Tensor& of) {
      made[i] = adapter_gradients(rows, of, matrices[i].first, matrices[i].second);
    };
    gradients(kDown, h, grad);
    gradients(kUp, lora_rows, grad_up);
    gradients(kGate, lora_rows, grad_gate);
    if (wants(0)) {
      out[0] = grad_up.matmul(dequantize(*layers[kUp])).view(x.sizes());
      add_product(grad_gate, dequantize(*layers[kGate]));
      if (has_dropout) out[1] = ghost::zeros_like(lora_rows).view(x.sizes());
      add_product(made[kUp].grad_B, matrices[kUp].first);
      add_product(made[kGate].grad_B, matrices[kGate].first);
    }
    give(made, out);
  }
  void release() override {
    FusedBackward::release();
    gate.reset();
    up.reset();
  }
  ghost::Saved gate, up;
};

/// Function.apply's node: none where no gradient is wanted.
template <class N>
ghost::Ptr<N> node_over(const char* name, const Tensor& x, const Tensor& dropped,
                        std::span<const LoraParameters> given) {
  const ghost::Session& session = ghost::session();
  if (!session.grad_enabled || session.skipping) return {};
  ghost::Ptr<N> node = ghost::make_node<N>(name, given);
  node->edges.push_back(ghost::gradient_edge(x));
  node->edges.push_back(dropped.defined() ? ghost::gradient_edge(dropped) : ghost::Edge());
  for (const LoraParameters& one : given)
    for (const Tensor* matrix : {&one.A, &one.B})
      node->edges.push_back(ghost::gradient_edge(*matrix));
  return node;
}

Tensor back_to(const Tensor& x, const Tensor& rows) {
  return rows.view(x.sizes().leading().with(rows.size(-1)));
}

}  // namespace

std::vector<Tensor> lora_projections(const Tensor& x, const Tensor& dropped,
                                     std::span<const LoraParameters> projections) {
  const auto node = node_over<ProjectionsBackward>("LoRA_QKVBackward", x, dropped, projections);
  const Op op("lora_qkv", {});
  std::vector<Tensor> outputs;
  {
    const ghost::GradMode no_grad(false);
    const Inputs inputs(x, dropped);
    for (const LoraParameters& one : projections)
      outputs.push_back(back_to(x, forward_product(inputs.rows, inputs.lora_rows, one)));
    if (node) node->keep(x, dropped, projections);
  }
  if (node)
    for (const Tensor& output : outputs) set_history(output, node);
  return outputs;
}

Tensor lora_output(const Tensor& x, const Tensor& dropped, const LoraParameters& projection) {
  const std::span<const LoraParameters> one(&projection, 1);
  const auto node = node_over<OutputBackward>("LoRA_OBackward", x, dropped, one);
  const Op op("lora_o", {});
  Tensor out;
  {
    const ghost::GradMode no_grad(false);
    const Inputs inputs(x, dropped);
    out = back_to(x, forward_product(inputs.rows, inputs.lora_rows, projection));
    if (node) node->keep(x, dropped, one);
  }
  if (node) set_history(out, node);
  return out;
}

Tensor lora_mlp(const Tensor& x, const Tensor& dropped,
                const std::array<LoraParameters, 3>& projections) {
  const auto node = node_over<MlpBackward>("LoRA_MLPBackward", x, dropped, projections);
  const Op op("lora_mlp", {});
  Tensor out;
  {
    const ghost::GradMode no_grad(false);
    const Inputs inputs(x, dropped);
    const Tensor gate =
        back_to(x, forward_product(inputs.rows, inputs.lora_rows, projections[kGate]));
    const Tensor up = back_to(x, forward_product(inputs.rows, inputs.lora_rows, projections[kUp]));
    const Tensor hidden = rows_of(ghost::empty(gate.sizes(), gate.dtype()));
    out = back_to(x, forward_product(hidden, hidden, projections[kDown]));
    if (node) {
      node->keep(x, dropped, projections);
      node->gate.keep(gate);
      node->up.keep(up);
    }
  }
  if (node) set_history(out, node);
  return out;
}

}  // namespace memtape::transformers::axolotl
