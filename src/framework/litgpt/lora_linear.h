// SPDX-License-Identifier: Apache-2.0
// LoRALinear and LoRAQKVLinear of litgpt (0.5.13, lora.py): a linear layer of the model, and beside
// it two small products that are trained. One layer makes queries, keys and values. A convolution
// with one group for each of them that is adapted makes their updates, which are then put into
// zeros.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "framework/litgpt/quantize.h"
#include "nn/layers.h"

namespace memtape::litgpt {

using ghost::Tensor;

/// litgpt's flags --lora_r, --lora_dropout and --lora_query ... --lora_head.
struct Lora {
  std::int64_t r = 8;
  double dropout = 0.05;
  bool query = true, key = false, value = true, projection = false, mlp = false, head = false;
  std::optional<Quantize> quantize = {};
};

struct LinearSizes {
  std::int64_t in_features, out_features;
  bool bias;
};

/// A linear layer of litgpt's model. In litgpt.model it is torch's own; in litgpt.lora it is named
/// `linear` inside of a LoRALinear.
class LoRALinear : public nn::Module<LoRALinear> {
 public:
  /// `lora` is that of the model, or null for litgpt.model. `adapted` says whether this layer has
  /// an adapter.
  LoRALinear(const nn::Scope& scope, const LinearSizes& sizes, const Lora* lora, bool adapted);
  Tensor forward(const Tensor& x);

 private:
  nn::Dropout lora_dropout_;
  nn::Linear linear_;
  Tensor lora_A_, lora_B_;
};

struct QkvSizes {
  std::int64_t n_embd, query_size, key_size;
  bool bias;
};

class LoRAQKVLinear : public nn::Module<LoRAQKVLinear> {
 public:
  LoRAQKVLinear(const nn::Scope& scope, const QkvSizes& sizes, const Lora* lora);
  Tensor forward(const Tensor& x);

 private:
  Tensor conv1d(const Tensor& input, const Tensor& weight) const;
  Tensor zero_pad(const Tensor& x);
  Tensor lora_ind();

  std::int64_t out_features_;
  bool equal_groups_;
  nn::Dropout lora_dropout_;
  nn::Linear linear_;
  std::vector<std::int64_t> qkv_shapes_;  ///< the sizes of those that are adapted
  bool all_adapted_ = false;
  Tensor lora_A_, lora_B_, lora_ind_;
};

}  // namespace memtape::litgpt
