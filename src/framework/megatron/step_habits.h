// SPDX-License-Identifier: Apache-2.0
// Megatron-LM's own arguments, as far as the time of a step depends on them.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "time/train_setup.h"

namespace memtape::megatron {

/// What recipes of NVIDIA's have --recompute-modules name, beside core_attn: mixtures that of
/// Qwen3, GPT-OSS and Qwen3-Next, latent attention that of DeepSeek-V3 (Megatron-Bridge,
/// scripts/performance and recipes).
inline constexpr auto kSelections = std::to_array<std::string_view>(
    {"layernorm,moe_act", "shared_experts,layernorm,moe_act", "mla_up_proj",
     "mla_up_proj,layernorm,moe_act", "mlp", "mla_up_proj,mlp", "mla_up_proj,mlp,layernorm,moe_act",
     "layernorm,moe", "mla_up_proj,layernorm,moe"});

/// Such a list as the member of --strategy that says it.
std::string recompute_modules_member(std::string_view modules);

/// What makes the first of so many layers of each chunk again (--recompute-method block).
std::string recompute_layers_members(std::int64_t layers);

/// Applies what --strategy says. Where it says nothing about eight bits, the recipe counts.
void read_time(const TrainRecipe& recipe, time::TrainSetup& setup);

}  // namespace memtape::megatron
