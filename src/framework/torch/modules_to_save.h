// SPDX-License-Identifier: Apache-2.0
// peft 0.21's ModulesToSaveWrapper (utils/other.py): a copy of a module that is trained whole, in
// the dtype it has, beside the frozen original.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "family/pretrained.h"

namespace memtape::torch {

/// set_additional_trainable_modules for LoraConfig.modules_to_save.
Result<void> save_modules(family::PretrainedModel& model, const std::vector<std::string>& names);

/// The same for the heads of a task, those that the model has; a head may be of several layers.
Result<void> save_task_heads(family::PretrainedModel& model, const std::vector<std::string>& names);

}  // namespace memtape::torch
