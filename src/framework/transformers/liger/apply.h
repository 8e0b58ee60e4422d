// SPDX-License-Identifier: Apache-2.0
// use_liger_kernel: liger-kernel 0.8 (transformers/monkey_patch.py) replaces the forwards of a
// model's norms, gated MLPs, rotary embedding and causal head by its own, as far as it knows the
// type of the model.
#pragma once

#include <string_view>

#include "base/result.h"
#include "family/pretrained.h"
#include "framework/transformers/trainer_recipe.h"

namespace memtape::transformers::liger {

/// Whether there are kernels for models of that type.
bool has_kernels(std::string_view family);
/// Whether its loss is fused with the head, if that is asked for.
bool has_fused_head(std::string_view family);

/// _apply_liger_kernel_to_instance without the head, which is lce_forward.
Result<void> apply(family::PretrainedModel& model, std::string_view family,
                   const LigerRecipe& recipe);

/// The forward of a causal model whose head and loss are fused (transformers/model/llama.py).
family::ModelOutput lce_forward(family::PretrainedModel& model, const family::Batch& batch);

}  // namespace memtape::transformers::liger
