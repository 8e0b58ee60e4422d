// SPDX-License-Identifier: Apache-2.0
// LoRALinear and LoRAQKVLinear of litgpt (0.5.13, lora.py): a linear layer of the model, and beside
// it two small products that are trained. One layer makes queries, keys and values. A convolution
// with one group for each of them that is adapted makes their updates, which are then put into
// zeros. In litgpt.adapter_v2 both are an AdapterV2Linear, with a bias and a scale that are trained.
#pragma once

#include <vector>

#include "framework/litgpt/adapters.h"
#include "nn/layers.h"

namespace memtape::litgpt {

using ghost::Tensor;

struct LinearSizes {
  std::int64_t in_features, out_features;
  bool bias;
};

/// What AdapterV2Linear has beside its `linear`. Elsewhere there is nothing, and values pass.
class BiasAndScale {
 public:
  BiasAndScale(const nn::Scope& scope, std::int64_t out_features, const Adapters& adapters);
  Tensor operator()(Tensor output) const;

 private:
  Tensor adapter_bias_, adapter_scale_;
};

/// A linear layer of litgpt's model. In litgpt.model and litgpt.adapter it is torch's own; in
/// litgpt.lora and litgpt.adapter_v2 it is named `linear` inside of another.
class LoRALinear : public nn::Module<LoRALinear> {
 public:
  /// `adapters` are those of the model; `has_lora` says whether this layer has LoRA's.
  LoRALinear(const nn::Scope& scope, const LinearSizes& sizes, const Adapters& adapters,
             bool has_lora);
  Tensor forward(const Tensor& x);

 private:
  nn::Dropout lora_dropout_;
  nn::Linear linear_;
  BiasAndScale bias_and_scale_;
  std::vector<Tensor> first_state_;  ///< of a quantized layer
  Tensor lora_A_, lora_B_;
};

struct QkvSizes {
  std::int64_t n_embd, query_size, key_size;
  bool bias;
};

class LoRAQKVLinear : public nn::Module<LoRAQKVLinear> {
 public:
  LoRAQKVLinear(const nn::Scope& scope, const QkvSizes& sizes, const Adapters& adapters);
  Tensor forward(const Tensor& x);

 private:
  Tensor conv1d(const Tensor& input, const Tensor& weight) const;
  Tensor zero_pad(const Tensor& x);
  Tensor lora_ind();

  std::int64_t out_features_;
  bool equal_groups_;
  nn::Dropout lora_dropout_;
  nn::Linear linear_;
  BiasAndScale bias_and_scale_;
  std::vector<Tensor> first_state_;       ///< of a quantized layer
  std::vector<std::int64_t> qkv_shapes_;  ///< the sizes of those that are adapted
  bool all_adapted_ = false;
  Tensor lora_A_, lora_B_, lora_ind_;
};

}  // namespace memtape::litgpt
