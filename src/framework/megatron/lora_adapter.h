// SPDX-License-Identifier: Apache-2.0
// Megatron-Bridge's LoRA (megatron/bridge/peft of 0.6.2): the adapter beside a product whose weight
// is frozen, two of Megatron Core's own parallel products (ParallelLinearAdapter of utils.py). Only
// adapters have gradients, a place in DDP's buffers, and an optimizer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "framework/megatron/linear.h"
#include "workload/lora_recipe.h"

namespace memtape::megatron {

/// The adapters that are asked for, by Megatron's names of modules; all four where none is named.
Result<std::optional<LoraTargets>> lora_targets(const std::optional<LoraRecipe>& asked,
                                                const Arguments& a);

/// Only adapters are trained (PEFT.freeze_model).
void freeze_all_but_adapters(const nn::ModuleNode& root);

class LoraAdapter {
 public:
  /// Beside a product of that shape.
  LoraAdapter(const nn::Scope& scope, Rank& rank, const LinearShape& beside);
  /// What is added to the product's output.
  Tensor operator()(const Tensor& x);

 private:
  Rank& rank_;
  bool column_, scatters_;
  std::int64_t parts_;
  Linear in_, out_;
};

}  // namespace memtape::megatron
