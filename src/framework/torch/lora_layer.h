// SPDX-License-Identifier: Apache-2.0
// lora.Linear of peft 0.21 (tuners/lora/layer.py, bnb.py, dora.py): a layer's own product beside
// that of two small matrices, and with DoRA a magnitude for each of its outputs.
#pragma once

#include <optional>

#include "nn/layers.h"
#include "workload/lora_recipe.h"

namespace memtape::torch {

using ghost::Tensor;

/// cast_adapter_dtype of one matrix and its bias: half types become float32.
void cast_to_float32(nn::Linear& adapter);

/// The adapted layer as the module that it has become: hooks see its own product.
class BaseLayer final : public nn::Module<BaseLayer> {
 public:
  BaseLayer(const nn::Scope& scope, nn::Projection& base) : Module(scope), base_(base) {}
  Tensor forward(const Tensor& x) { return base_.base_forward(x); }

 private:
  nn::Projection& base_;
};

class LoraLinear final : public nn::ProjectionAdapter {
 public:
  LoraLinear(nn::ModuleTree& tree, nn::Projection& base, const LoraRecipe& recipe,
             std::int64_t rank);

  Tensor forward(nn::Projection& base, const Tensor& input) override;
  bool enabled = true;  ///< not disable_adapters: else the layer's own product is all

  // What functions that take the layer's place read (axolotl's get_lora_parameters).
  const Tensor& weight_A() const { return lora_A_.weight; }
  const Tensor& weight_B() const { return lora_B_.weight; }
  /// lora_dropout, or nothing where it is an identity.
  nn::Dropout* dropout() { return dropout_rate_ > 0 ? &lora_dropout_ : nullptr; }
  /// Whether the products are more than those of the two matrices.
  bool is_plain() const { return !magnitude_.defined() && !lora_B_.bias.defined(); }

  /// cast_adapter_dtype of all that is this layer's.
  void cast();

 private:
  Tensor forward_over_quantized(nn::Projection& base, Tensor x);
  Tensor dora(nn::Projection& base, const Tensor& input, const Tensor& result);
  Tensor dora_update(nn::Projection& base, const Tensor& x, Tensor base_result);
  Tensor weight_norm(const Tensor& weight, const Tensor& lora_weight) const;
  Tensor lora_weight(DType dtype);
  void init_magnitude(nn::ModuleTree& tree, nn::Projection& base);

  BaseLayer base_layer_;
  double dropout_rate_;
  bool has_dropout_;  ///< a module, whatever its rate, and no identity
  nn::Dropout lora_dropout_;
  nn::Linear lora_A_, lora_B_;
  nn::ModuleNode* magnitude_node_ = nullptr;
  Tensor magnitude_;  ///< lora_magnitude_vector
};

}  // namespace memtape::torch
