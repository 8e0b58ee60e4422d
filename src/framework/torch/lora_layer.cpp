// SPDX-License-Identifier: Apache-2.0
#include "framework/torch/lora_layer.h"

#include <string_view>
#include <utility>
#include <vector>

#include "framework/torch/quantized_projection.h"
#include "ghost/autograd/node.h"
#include "ghost/ops/matmul.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "release/trainer_changes.h"

namespace memtape::torch {
namespace {

using nn::ModuleNode;

/// The place the adapted layer's own parameters move to.
nn::Scope move_to_base_layer(nn::ModuleTree& tree, ModuleNode& node) {
  ModuleNode& base = tree.add(node, "base_layer");
  base.parameters = std::move(node.parameters);
  node.parameters.clear();
  return {tree, base};
}

nn::Scope layer_adapter(nn::ModuleTree& tree, ModuleNode& node, std::string_view name) {
  return nn::Scope(tree, node) / name / "default";
}

/// The dtype of the base layer, or that of its products when it is quantized
/// (_get_base_layer_device_and_dtype).
DType adapter_dtype(const nn::Projection& base) {
  if (!ghost::has(changes::kAdaptersTakeTheLayersDtype)) return DType::float32;
  return base.kernel ? base.kernel->compute_dtype() : base.weight.dtype();
}

/// Only quantizers give a projection that peft adapts a kernel.
LoraForward lora_forward_over(const nn::Projection& base) {
  if (!base.kernel) return LoraForward::plain;
  return static_cast<const QuantizedProjection&>(*base.kernel).lora_forward();
}

/// dequantize_module_weight
Tensor dense_weight(const nn::Projection& base) {
  if (!base.kernel) return base.weight;
  return static_cast<const QuantizedProjection&>(*base.kernel).dequantized_weight(base);
}

/// deepcopy(base_layer) of a layer in 4 bits: weight, bias, and the state once more, which the
/// layer holds beside its weight.
std::vector<Tensor> copied_base(const nn::Projection& base) {
  if (!base.kernel) return {};
  const auto& kernel = static_cast<const QuantizedProjection&>(*base.kernel);
  std::vector<Tensor> copies = kernel.copied_state();
  if (copies.empty()) return {};
  copies.push_back(base.weight.clone());
  if (base.bias.defined()) copies.push_back(base.bias.clone());
  for (Tensor& state : kernel.copied_state()) copies.push_back(std::move(state));
  return copies;
}

bool is_half(DType dtype) { return dtype == DType::float16 || dtype == DType::bfloat16; }

Tensor as_float32(const ModuleNode& node, const Tensor& half) {
  const ghost::ScopeGuard guard(node.scope);
  Tensor parameter = half.detach().to_float();
  parameter.impl().requires_grad = true;
  ghost::session().set_category(parameter, Category::parameter);
  return parameter;
}

/// result + output, or result += output.
Tensor added(Tensor result, Tensor output) {
  if (ghost::has(changes::kAdaptersAddToACopy)) return result.add(output);
  ghost::add_(result, output);
  return result;
}

/// torch.eye: ones on the diagonal of zeros.
Tensor eye(std::int64_t size, DType dtype) {
  const ghost::Op op("eye", {});
  return ghost::empty({size, size}, dtype);
}

}  // namespace

void cast_to_float32(nn::Linear& adapter) {
  if (!ghost::has(changes::kAdaptersAreCast)) return;
  if (is_half(adapter.weight.dtype()))
    nn::replace_weight(adapter, as_float32(adapter.node(), adapter.weight));
  if (!adapter.bias.defined() || !is_half(adapter.bias.dtype())) return;
  adapter.bias = as_float32(adapter.node(), adapter.bias);
  adapter.node().parameters.back().tensor = adapter.bias;
}

LoraLinear::LoraLinear(nn::ModuleTree& tree, nn::Projection& base, const LoraRecipe& recipe,
                       std::int64_t rank)
    : base_layer_(move_to_base_layer(tree, base.node()), base),
      dropout_rate_(recipe.dropout),
      has_dropout_(recipe.dropout > 0 || recipe.dropout_switched_off),
      lora_dropout_(layer_adapter(tree, base.node(), "lora_dropout"), recipe.dropout),
      lora_A_(layer_adapter(tree, base.node(), "lora_A"), base.in_features, rank, false,
              adapter_dtype(base)),
      lora_B_(layer_adapter(tree, base.node(), "lora_B"), rank, base.out_features, recipe.lora_bias,
              adapter_dtype(base)) {
  if (recipe.use_dora) init_magnitude(tree, base);
}

Tensor LoraLinear::forward(nn::Projection& base, const Tensor& input) {
  if (!enabled) return base_layer_(input);
  if (lora_forward_over(base) != LoraForward::plain) return forward_over_quantized(base, input);
  Tensor result = base_layer_(input);
  const DType torch_result_dtype = result.dtype();
  const Tensor x = input.to(lora_A_.weight.dtype());
  if (magnitude_.defined())
    result = dora(base, x, result);
  else
    result = added(std::move(result), lora_B_(lora_A_(lora_dropout_(x))).mul(2.0));
  return result.to(torch_result_dtype);
}

void LoraLinear::cast() {
  cast_to_float32(lora_A_);
  cast_to_float32(lora_B_);
  if (!magnitude_.defined() || !is_half(magnitude_.dtype())) return;
  if (!ghost::has(changes::kAdaptersAreCast)) return;
  magnitude_ = as_float32(*magnitude_node_, magnitude_);
  magnitude_node_->parameters.front().tensor = magnitude_;
}

/// That of bitsandbytes' and AWQ's layers: no casts under autocast, and in 4 bits a clone of the
/// result.
Tensor LoraLinear::forward_over_quantized(nn::Projection& base, Tensor x) {
  Tensor result = base_layer_(x);
  if (lora_forward_over(base) == LoraForward::cloning) result = result.clone();
  const bool requires_conversion = !ghost::session().autocast.enabled;
  const DType expected_dtype = result.dtype();
  if (requires_conversion) x = x.to(lora_A_.weight.dtype());
  if (magnitude_.defined()) {
    result = dora(base, x, result);
    return requires_conversion ? result.to(expected_dtype) : result;
  }
  Tensor output = lora_B_(lora_A_(lora_dropout_(x))).mul(2.0);
  if (requires_conversion) output = output.to(expected_dtype);
  return added(std::move(result), std::move(output));
}

/// DoraLinearVariant.forward (variants.py); a training module with dropout, be its rate 0, makes
/// the base product again, of what dropout left.
Tensor LoraLinear::dora(nn::Projection& base, const Tensor& input, const Tensor& result) {
  const bool drops = has_dropout_ && ghost::session().training;
  const Tensor x = drops ? lora_dropout_(input) : input;
  return result.add(dora_update(base, x, drops ? Tensor() : result));
}

/// DoraLinearLayer.forward.
Tensor LoraLinear::dora_update(nn::Projection& base, const Tensor& x, Tensor base_result) {
  const ghost::ScopeGuard guard(magnitude_node_->scope);
  const Tensor delta = lora_weight(x.dtype());
  const Tensor weight = dense_weight(base).to(x.dtype());
  const Tensor norm = weight_norm(weight, delta.detach()).detach();
  const Tensor mag_norm_scale = magnitude_.div(norm).view({1, -1});
  const Tensor lora_result = lora_B_(lora_A_(x));
  if (!base_result.defined())
    base_result = ghost::linear(x, weight, {});
  else if (base.bias.defined())
    base_result = base_result.sub(base.bias);
  return mag_norm_scale.add(-1.0).mul(base_result).add(mag_norm_scale.mul(lora_result).mul(2.0));
}

/// get_lora_weight: B A as the adapter's answer to the identity.
Tensor LoraLinear::lora_weight(DType dtype) {
  Tensor product;
  {
    const Tensor x_eye = eye(lora_A_.in_features, lora_A_.weight.dtype());
    product = lora_B_(lora_A_(x_eye)).t();
  }
  return product.to(dtype);
}

Tensor LoraLinear::weight_norm(const Tensor& weight, const Tensor& lora_weight) const {
  const Tensor adapted = weight.add(lora_weight.mul(2.0));
  return ghost::vector_norm(adapted, 1).view({-1}).to(adapted.dtype());
}

/// DoraLinearLayer.update_layer: the norms that the base layer's rows start with.
void LoraLinear::init_magnitude(nn::ModuleTree& tree, nn::Projection& base) {
  const nn::Scope scope = layer_adapter(tree, base.node(), "lora_magnitude_vector");
  magnitude_node_ = &scope.node();
  const ghost::ScopeGuard guard(magnitude_node_->scope);
  const ghost::GradMode no_grad(false);
  const std::vector<Tensor> copies = copied_base(base);
  const bool is_fp16 = lora_A_.weight.dtype() == DType::float16;
  const DType product_dtype = is_fp16 ? DType::float32 : lora_A_.weight.dtype();
  const Tensor a = lora_A_.weight.to(product_dtype), b = lora_B_.weight.to(product_dtype);
  const Tensor weight = dense_weight(base);
  Tensor delta = b.matmul(a);
  if (is_fp16) delta = delta.to(DType::float16);
  magnitude_ = weight_norm(weight, delta).detach();
  magnitude_.impl().requires_grad = true;
  ghost::session().set_category(magnitude_, Category::parameter);
  magnitude_node_->parameters.push_back({"weight", magnitude_});
}

}  // namespace memtape::torch
