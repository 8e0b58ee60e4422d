// SPDX-License-Identifier: Apache-2.0
// What litgpt (0.5.13) trains beside a model's own weights: LoRA (lora.py), or LLaMA-Adapter
// (adapter.py), whose layers from the third on attend to a prompt of their own by a gate, and its
// second version (adapter_v2.py), which also gives every linear layer a bias and a scale and trains
// the norms.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "framework/litgpt/quantize.h"

namespace memtape {
struct TrainRecipe;
}

namespace memtape::litgpt {

/// litgpt's flags --lora_r, --lora_dropout and --lora_query ... --lora_head.
struct Lora {
  std::int64_t r = 8;
  double dropout = 0.05;
  bool query = true, key = false, value = true, projection = false, mlp = false, head = false;
};

/// The program: finetune_lora and finetune_full have none, finetune_adapter, finetune_adapter_v2.
enum class LlamaAdapter : std::uint8_t { none, v1, v2 };

inline constexpr std::int64_t kAdapterPromptLength = 10;  ///< Config.adapter_prompt_length
inline constexpr std::int64_t kAdapterStartLayer = 2;     ///< Config.adapter_start_layer

/// What the linear layers of a model carry. `lora` is null unless the model is litgpt.lora's.
struct Adapters {
  const Lora* lora = nullptr;
  LlamaAdapter llama = LlamaAdapter::none;
  std::optional<Quantize> quantize = {};
};

/// What only litgpt can be asked for, by --strategy.
struct Options {
  LlamaAdapter adapter = LlamaAdapter::none;
};

/// Reads --strategy into the recipe's own part.
Result<void> read_strategy(std::string_view json, TrainRecipe& recipe);

/// lora_filter and adapter_filter: whether a parameter of that name is trained.
bool is_trained(std::string_view name, LlamaAdapter adapter);

}  // namespace memtape::litgpt
