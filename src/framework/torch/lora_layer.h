// SPDX-License-Identifier: Apache-2.0
// lora.Linear of peft 0.21 (tuners/lora/layer.py, bnb.py, dora.py): a layer's own product beside
// the product of two small matrices and, with DoRA, a magnitude for each of its outputs.
#pragma once

#include <optional>

#include "nn/layers.h"
#include "workload/lora_recipe.h"

namespace memtape::torch {

using ghost::Tensor;

/// cast_adapter_dtype of one matrix and its bias: 16-bit types become float32.
void cast_to_float32(nn::Linear& adapter);

/// The original layer, which has become a module of its own inside the adapter: its hooks see its
/// own product.
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
  bool enabled = true;  ///< false after disable_adapters: only the layer's own product is computed

  // These are read by functions that replace the layer (axolotl's get_lora_parameters).
  const Tensor& weight_A() const { return lora_A_.weight; }
  const Tensor& weight_B() const { return lora_B_.weight; }
  /// lora_dropout, or null if it is an identity.
  nn::Dropout* dropout() { return dropout_rate_ > 0 ? &lora_dropout_ : nullptr; }
  /// Whether the layer adds nothing but the product of the two matrices.
  bool is_plain() const { return !magnitude_.defined() && !lora_B_.bias.defined(); }

  /// cast_adapter_dtype of everything that belongs to this layer.
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
  bool has_dropout_;  ///< it is a module, whatever its rate is, and not an identity
  nn::Dropout lora_dropout_;
  nn::Linear lora_A_, lora_B_;
  nn::ModuleNode* magnitude_node_ = nullptr;
  Tensor magnitude_;  ///< lora_magnitude_vector
};

}  // namespace memtape::torch
