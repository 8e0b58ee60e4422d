// SPDX-License-Identifier: Apache-2.0
#include "nn/layers.h"

#include "ghost/ops/creation.h"
#include "ghost/ops/dropout.h"
#include "ghost/ops/embedding.h"
#include "ghost/ops/matmul.h"
#include "ghost/ops/normalization.h"
#include "ghost/ops/padding.h"
#include "ghost/session.h"
#include "nn/module_init.h"

namespace memtape::nn {

Projection::Projection(const Scope& scope, std::int64_t in, std::int64_t out,
                       const Tensor& made_weight)
    : Module(scope), in_features(in), out_features(out), weight(made_weight) {
  node().projection = this;
}

Linear::Linear(const Scope& scope, std::int64_t in, std::int64_t out, bool has_bias)
    : Linear(scope, in, out, has_bias, scope.dtype()) {}

Linear::Linear(const Scope& scope, std::int64_t in, std::int64_t out, bool has_bias, DType dtype)
    : Projection(scope, in, out, scope.parameter("weight", {out, in}, dtype)) {
  if (has_bias) bias = scope.parameter("bias", {out}, dtype);
}

Tensor Linear::base_forward(const Tensor& x) {
  return kernel ? kernel->forward(*this, x) : ghost::linear(x, weight, bias);
}

Conv1D::Conv1D(const Scope& scope, std::int64_t nf, std::int64_t nx)
    : Projection(scope, nx, nf, scope.parameter("weight", {nx, nf})) {
  bias = scope.parameter("bias", {nf});
}

Tensor Conv1D::base_forward(const Tensor& x) {
  if (kernel) return kernel->forward(*this, x);
  const Dims size_out = x.sizes().leading().with(out_features);
  return ghost::addmm(bias, x.view({-1, x.size(-1)}), weight).view(size_out);
}

Embedding::Embedding(const Scope& scope, std::int64_t count, std::int64_t dim)
    : Module(scope), weight(scope.parameter("weight", {count, dim})) {
  node().embedding = this;
}

Tensor Embedding::forward(const Tensor& indices) {
  Tensor output = ghost::embedding(weight, indices);
  if (output_requires_grad && !output.requires_grad()) output.impl().requires_grad = true;
  if (adds_noise && ghost::session().training) output = output.add(ghost::zeros_like(output));
  return output;
}

Tensor Dropout::forward(const Tensor& x) { return ghost::dropout(x, rate_); }

LayerNorm::LayerNorm(const Scope& scope, std::int64_t width, bool has_bias, bool elementwise_affine)
    : Module(scope),
      weight(elementwise_affine ? scope.parameter("weight", {width}) : Tensor()),
      bias(elementwise_affine && has_bias ? scope.parameter("bias", {width}) : Tensor()) {
  node().layer_norm = true;
}

Tensor LayerNorm::forward(const Tensor& x) { return ghost::layer_norm(x, weight, bias); }

RMSNorm::RMSNorm(const Scope& scope, std::int64_t width)
    : Module(scope), weight(scope.parameter("weight", {width})) {}

Tensor RMSNorm::forward(const Tensor& x) { return ghost::rms_norm(x, weight); }

namespace {

void replace_parameter(ModuleNode& node, std::string_view name, const Tensor& tensor) {
  for (ModuleNode::Named& parameter : node.parameters)
    if (parameter.name == name) parameter.tensor = tensor;
}

/// PreTrainedModel._adjust_bias: `bias.data = pad(bias.data, ...)`, a copy even where it already
/// fits the weight.
void adjust_bias(Linear& head) {
  if (!head.bias.defined()) return;
  const ghost::ScopeGuard guard(head.node().scope);
  const Tensor padded =
      ghost::pad_last(head.bias.detach(), 0, head.weight.size(0) - head.bias.size(0));
  ghost::session().set_category(padded, Category::parameter);
  head.bias.impl().storage = padded.impl().storage;
}

}  // namespace

void replace_weight(Projection& projection, const Tensor& weight) {
  projection.weight = weight;
  replace_parameter(projection.node(), "weight", weight);
}

void replace_bias(Projection& projection, const Tensor& bias) {
  projection.bias = bias;
  replace_parameter(projection.node(), "bias", bias);
}

void tie(Embedding& embedding, const Tensor& table) {
  if (ModuleInit* const init = ghost::given_here<ModuleInit>()) init->end(embedding.node());
  embedding.weight = table;
  replace_parameter(embedding.node(), "weight", table);
}

void tie(Linear& head, const Tensor& table) {
  if (ModuleInit* const init = ghost::given_here<ModuleInit>()) init->end(head.node());
  replace_weight(head, table);
  adjust_bias(head);
}

void tie_bias(Linear& head, const Tensor& bias) {
  replace_bias(head, bias);
  adjust_bias(head);
}

}  // namespace memtape::nn
