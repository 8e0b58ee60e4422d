// SPDX-License-Identifier: Apache-2.0
// lora_qkv_kernel, lora_o_kernel and lora_mlp_kernel of axolotl (0.19,
// monkeypatch/lora_kernels.py): in every layer whose projections are all adapted, fused functions
// replace what peft does. axolotl rewrites the source of the attention if it reads like that of
// Llama or Qwen3; otherwise it stops.
#pragma once

#include <string>

#include "base/result.h"
#include "family/pretrained.h"

namespace memtape {
struct TrainRecipe;
}

namespace memtape::transformers::axolotl {

/// Why peft's own adapters are answered where kernels are asked for; "" where they are modelled.
std::string why_not_fused(const Config& config, const TrainRecipe& recipe);

/// patch_self_attn_lora and apply_lora_kernel_patches on a model that has its adapters.
/// `partitions_parameters` is set under ZeRO 3, which would have to gather what the functions read.
Result<void> apply_lora_kernels(family::PretrainedModel& model, const Config& config,
                                const TrainRecipe& recipe, bool partitions_parameters);

}  // namespace memtape::transformers::axolotl
