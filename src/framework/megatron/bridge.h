// SPDX-License-Identifier: Apache-2.0
// What Megatron-Bridge makes of a transformers configuration in addition to its shape: Transformer
// Engine's layers, fused losses, and the experts, routers and further tokens of each family.
// Source: Megatron-Bridge src/megatron/bridge/models/gpt_provider.py, llama/llama_provider.py,
// mixtral/mixtral_provider.py, qwen/qwen3_moe_bridge.py and deepseek/deepseek_v3_bridge.py.
#pragma once

#include "framework/megatron/attributes.h"
#include "framework/megatron/strategy.h"
#include "model/config.h"

namespace memtape {
struct TrainRecipe;
}

namespace memtape::megatron {

/// Sets what the provider of the configuration's family sets.
void add_bridge(const Config& config, const Strategy& strategy, const TrainRecipe& recipe,
                Attributes& attributes);

}  // namespace memtape::megatron
