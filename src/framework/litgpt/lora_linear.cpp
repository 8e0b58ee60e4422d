// SPDX-License-Identifier: Apache-2.0
#include "framework/litgpt/lora_linear.h"

#include <numeric>
#include <utility>

#include "ghost/ops/creation.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/matmul.h"
#include "ghost/ops/pointwise_convolution.h"

namespace memtape::litgpt {
namespace {

double dropout_of(const Lora* lora) { return lora ? lora->dropout : 0.0; }

nn::Scope place_of_linear(const nn::Scope& scope, const Adapters& adapters) {
  return adapters.lora || adapters.llama == LlamaAdapter::v2 ? scope / "linear" : scope;
}

std::vector<std::int64_t> adapted_shapes(const QkvSizes& sizes, const Lora* lora) {
  std::vector<std::int64_t> shapes;
  if (!lora) return shapes;
  if (lora->query) shapes.push_back(sizes.query_size);
  if (lora->key) shapes.push_back(sizes.key_size);
  if (lora->value) shapes.push_back(sizes.key_size);
  return shapes;
}

}  // namespace

BiasAndScale::BiasAndScale(const nn::Scope& scope, std::int64_t out_features,
                           const Adapters& adapters) {
  if (adapters.llama != LlamaAdapter::v2) return;
  adapter_bias_ = scope.parameter("adapter_bias", {out_features});
  adapter_scale_ = scope.parameter("adapter_scale", {out_features});
}

Tensor BiasAndScale::operator()(Tensor output) const {
  if (!adapter_scale_.defined()) return output;
  return adapter_scale_.mul(std::move(output).add(adapter_bias_));
}

LoRALinear::LoRALinear(const nn::Scope& scope, const LinearSizes& sizes, const Adapters& adapters,
                       bool has_lora)
    : Module(scope),
      lora_dropout_(scope / "lora_dropout", dropout_of(adapters.lora)),
      linear_(place_of_linear(scope, adapters), sizes.in_features, sizes.out_features, sizes.bias),
      bias_and_scale_(scope, sizes.out_features, adapters) {
  if (adapters.quantize) first_state_ = quantize_linear(linear_, *adapters.quantize);
  if (!adapters.lora || !has_lora) return;
  lora_A_ = scope.parameter("lora_A", {adapters.lora->r, sizes.in_features});
  lora_B_ = scope.parameter("lora_B", {sizes.out_features, adapters.lora->r});
}

Tensor LoRALinear::forward(const Tensor& x) {
  const Tensor pretrained = bias_and_scale_(linear_(x));
  if (!lora_A_.defined()) return pretrained;
  const Tensor lora =
      lora_dropout_(x).matmul(lora_A_.transpose(0, 1)).matmul(lora_B_.transpose(0, 1)).mul(2.0);
  return pretrained.add(lora);
}

LoRAQKVLinear::LoRAQKVLinear(const nn::Scope& scope, const QkvSizes& sizes,
                             const Adapters& adapters)
    : Module(scope),
      out_features_(sizes.query_size + 2 * sizes.key_size),
      equal_groups_(sizes.query_size == sizes.key_size),
      lora_dropout_(scope / "lora_dropout", dropout_of(adapters.lora)),
      linear_(place_of_linear(scope, adapters), sizes.n_embd, out_features_, sizes.bias),
      bias_and_scale_(scope, out_features_, adapters),
      qkv_shapes_(adapted_shapes(sizes, adapters.lora)) {
  if (adapters.quantize) first_state_ = quantize_linear(linear_, *adapters.quantize);
  if (qkv_shapes_.empty()) return;
  all_adapted_ = qkv_shapes_.size() == 3;
  const auto adapted = static_cast<std::int64_t>(qkv_shapes_.size());
  const std::int64_t outputs =
      std::accumulate(qkv_shapes_.begin(), qkv_shapes_.end(), std::int64_t{0});
  const std::int64_t r = adapters.lora->r;
  lora_A_ = scope.parameter("lora_A", {r * adapted, sizes.n_embd});
  lora_B_ = scope.parameter("lora_B", {outputs, r});
}

Tensor LoRAQKVLinear::forward(const Tensor& x) {
  const Tensor pretrained = bias_and_scale_(linear_(x));
  if (!lora_A_.defined()) return pretrained;
  const Tensor after_A = ghost::linear(lora_dropout_(x), lora_A_, {});
  const Tensor after_B = conv1d(after_A.transpose(-2, -1), lora_B_.unsqueeze(-1)).transpose(-2, -1);
  const Tensor lora = zero_pad(after_B).mul(2.0);
  return pretrained.add(lora);
}

/// One group for each of the adapted; by hand where they differ in size.
Tensor LoRAQKVLinear::conv1d(const Tensor& input, const Tensor& weight) const {
  const auto adapted = static_cast<std::int64_t>(qkv_shapes_.size());
  if (equal_groups_) return ghost::pointwise_conv1d(input, weight, adapted);
  const std::vector<Tensor> inputs = input.chunk(adapted, 1);
  const std::vector<Tensor> weights = weight.split(qkv_shapes_, 0);
  std::vector<Tensor> outputs;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    outputs.push_back(ghost::pointwise_conv1d(inputs[i], weights[i], 1));
  return ghost::cat(outputs, 1);
}

Tensor LoRAQKVLinear::zero_pad(const Tensor& x) {
  if (all_adapted_) return x;
  const Tensor result = ghost::zeros(x.sizes().leading().with(out_features_), x.dtype());
  return ghost::index_copy_last(result, lora_ind(), x);
}

/// Made at the first call; a clone of it is given out.
Tensor LoRAQKVLinear::lora_ind() {
  if (!lora_ind_.defined()) {
    lora_ind_ = ghost::zeros({lora_B_.size(0)}, DType::int64, Category::buffer);
    node().buffers.push_back({"_lora_ind", lora_ind_});
  }
  return lora_ind_.clone();
}

}  // namespace memtape::litgpt
