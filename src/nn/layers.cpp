// SPDX-License-Identifier: Apache-2.0
#include "nn/layers.h"

#include "ghost/ops/embedding.h"
#include "ghost/ops/matmul.h"
#include "ghost/ops/normalization.h"

namespace memtape::nn {

Linear::Linear(const Scope& scope, std::int64_t in_features, std::int64_t out_features, bool has_bias)
    : Module(scope),
      weight(scope.parameter("weight", {out_features, in_features})),
      bias(has_bias ? scope.parameter("bias", {out_features}) : Tensor()) {
  node().linear = this;
}

Tensor Linear::base_forward(const Tensor& x) { return ghost::linear(x, weight, bias); }

Tensor Linear::forward(const Tensor& x) { return adapter ? adapter->forward(*this, x) : base_forward(x); }

Embedding::Embedding(const Scope& scope, std::int64_t count, std::int64_t dim)
    : Module(scope), weight(scope.parameter("weight", {count, dim})) {}

Tensor Embedding::forward(const Tensor& indices) { return ghost::embedding(weight, indices); }

LayerNorm::LayerNorm(const Scope& scope, std::int64_t width, bool has_bias)
    : Module(scope),
      weight(scope.parameter("weight", {width})),
      bias(has_bias ? scope.parameter("bias", {width}) : Tensor()) {}

Tensor LayerNorm::forward(const Tensor& x) { return ghost::layer_norm(x, weight, bias); }

RMSNorm::RMSNorm(const Scope& scope, std::int64_t width) : Module(scope), weight(scope.parameter("weight", {width})) {}

Tensor RMSNorm::forward(const Tensor& x) { return ghost::rms_norm(x, weight); }

void tie(Linear& head, const Tensor& table) {
  head.weight = table;
  for (ModuleNode::Named& parameter : head.node().parameters)
    if (parameter.name == "weight") parameter.tensor = table;
}

}  // namespace memtape::nn
