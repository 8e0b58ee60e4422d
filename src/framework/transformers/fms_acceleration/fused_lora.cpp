// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/fms_acceleration/fused_lora.h"

#include <cstddef>
#include <utility>

#include "framework/transformers/dequantized_for_product.h"
#include "ghost/autograd/function.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/matmul.h"
#include "ghost/ops/pointwise.h"

namespace memtape::transformers::fms_acceleration {
namespace {

using ghost::Gradients;
using ghost::Op;

Tensor rows_of(const Tensor& x) { return x.view({-1, x.size(-1)}); }

Tensor dequantize(const nn::Projection& layer) {
  return dequantized_for_product(layer, "fast_dequantize");
}

/// matmul_lora: the product and what dropout left of the rows.
std::pair<Tensor, Tensor> matmul_lora(const Tensor& rows, const AdaptedProjection& given) {
  Tensor out = rows.matmul(dequantize(*given.layer).t());
  const Tensor dropped = given.dropout ? (*given.dropout)(rows) : rows;
  const DType dtype = rows.dtype();
  const Tensor low = dropped.matmul(given.A.t().to(dtype));
  ghost::add_(out, low.matmul(given.B.t().to(dtype).mul(2.0)));
  return {std::move(out), dropped};
}

struct AdapterGradients {
  Tensor d_A, d_B;
};

/// Both as transposes of what the products give, scaled in place.
AdapterGradients adapter_gradients(const Tensor& dropped, const Tensor& grad, const Tensor& A,
                                   const Tensor& B) {
  AdapterGradients made;
  made.d_A = dropped.t().matmul(grad.matmul(B));
  made.d_B = A.matmul(dropped.t()).matmul(grad);
  return made;
}

/// dX += (X != 0) * (dY @ B @ (S * A)) of the dropped X.
void add_through_adapter(Tensor& dx, const Tensor& dropped, const Tensor& grad, const Tensor& A,
                         const Tensor& B) {
  const DType dtype = dropped.dtype();
  const Op op("add_through_adapter", {});
  const Tensor kept = ghost::empty(dropped.sizes(), DType::boolean);
  const Tensor through = grad.matmul(B.to(dtype)).matmul(A.to(dtype).mul(2.0));
  ghost::add_(dx, kept.mul(through));
}

struct FusedBackward : ghost::Node {
  FusedBackward(const char* node_name, std::span<const AdaptedProjection> given)
      : Node(node_name), A(given.size()), B(given.size()), dropped(given.size()) {
    for (std::size_t i = 0; i < given.size(); ++i) {
      layers.push_back(given[i].layer);
      A[i].keep(given[i].A);
      B[i].keep(given[i].B);
    }
  }
  void release() override {
    input.reset();
    for (auto* group : {&A, &B, &dropped})
      for (ghost::Saved& saved : *group) saved.reset();
  }
  /// The second half of each matrix's life: register_hook makes it contiguous before it is reduced.
  static void give(std::vector<AdapterGradients>& made, Gradients& out) {
    for (std::size_t i = 0; i < made.size(); ++i) {
      out[1 + 2 * i] = made[i].d_A.t().contiguous();
      out[2 + 2 * i] = made[i].d_B.t().contiguous();
    }
  }
  std::vector<const nn::Projection*> layers;
  ghost::Saved input;
  std::vector<ghost::Saved> A, B, dropped;
};

struct QkvBackward final : FusedBackward {
  using FusedBackward::FusedBackward;
  void apply(Gradients& in, Gradients& out) override {
    Tensor dx = rows_of(input.unpack());
    const ghost::Dims sizes = input.unpack().sizes();
    std::vector<Tensor> grads, kept;
    std::vector<AdapterGradients> made;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      grads.push_back(rows_of(in[i].contiguous()));
      kept.push_back(dropped[i].unpack());
    }
    for (std::size_t i = 0; i < layers.size(); ++i)
      made.push_back(adapter_gradients(kept[i], grads[i], A[i].unpack(), B[i].unpack()));
    for (std::size_t i = 0; i < layers.size(); ++i) {
      add_base(dx, grads[i], *layers[i], i == 0);
      add_through_adapter(dx, kept[i], grads[i], A[i].unpack(), B[i].unpack());
    }
    out[0] = dx.view(sizes);
    give(made, out);
  }

 private:
  /// The first product is written over the input.
  static void add_base(Tensor& dx, const Tensor& grad, const nn::Projection& layer, bool first) {
    const Tensor weight = dequantize(layer);
    if (!first) return ghost::add_(dx, grad.matmul(weight));
    ghost::use_cublas();
  }
};

struct OutputBackward final : FusedBackward {
  using FusedBackward::FusedBackward;
  void apply(Gradients& in, Gradients& out) override {
    const ghost::Dims sizes = input.unpack().sizes();
    const Tensor grad = rows_of(in[0].contiguous()), kept = dropped[0].unpack();
    std::vector<AdapterGradients> made{adapter_gradients(kept, grad, A[0].unpack(), B[0].unpack())};
    Tensor dx;
    {
      const Tensor weight = dequantize(*layers[0]);
      dx = grad.matmul(weight);
    }
    add_through_adapter(dx, kept, grad, A[0].unpack(), B[0].unpack());
    out[0] = dx.view(sizes);
    give(made, out);
  }
};

template <class N>
std::vector<Tensor> apply(const char* name, const Tensor& x,
                          std::span<const AdaptedProjection> projections) {
  std::vector<Tensor> inputs{x};
  for (const AdaptedProjection& one : projections) {
    inputs.push_back(one.A);
    inputs.push_back(one.B);
  }
  const auto node = ghost::function_node<N>(std::span<const Tensor>(inputs), name, projections);
  inputs.clear();
  const Op op("fused_lora", {});
  std::vector<Tensor> outputs;
  {
    const ghost::GradMode no_grad(false);
    for (std::size_t i = 0; i < projections.size(); ++i) {
      auto [out, dropped] = matmul_lora(rows_of(x), projections[i]);
      outputs.push_back(out.view(x.sizes().leading().with(out.size(-1))));
      if (node) node->dropped[i].keep(dropped);
    }
    if (node) node->input.keep(x);
  }
  if (node)
    for (const Tensor& output : outputs) set_history(output, node);
  return outputs;
}

}  // namespace

std::vector<Tensor> lora_qkv(const Tensor& x, std::span<const AdaptedProjection> projections) {
  return apply<QkvBackward>("LoRA_QKVBackward", x, projections);
}

Tensor lora_w(const Tensor& x, const AdaptedProjection& projection) {
  return apply<OutputBackward>("LoRA_WBackward", x, {&projection, 1}).front();
}

}  // namespace memtape::transformers::fms_acceleration
