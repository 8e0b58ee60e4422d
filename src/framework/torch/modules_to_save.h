// SPDX-License-Identifier: Apache-2.0
// ModulesToSaveWrapper of peft 0.21 (utils/other.py): a copy of a module that is trained as a
// whole, in its own dtype, beside the frozen original.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "family/pretrained.h"

namespace memtape::torch {

/// set_additional_trainable_modules for LoraConfig.modules_to_save.
Result<void> save_modules(family::PretrainedModel& model, const std::vector<std::string>& names);

/// The same for those heads of a task that the model has. A head may consist of several layers.
Result<void> save_task_heads(family::PretrainedModel& model, const std::vector<std::string>& names);

}  // namespace memtape::torch
