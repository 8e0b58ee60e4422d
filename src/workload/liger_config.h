// SPDX-License-Identifier: Apache-2.0
// use_liger_kernel and liger_kernel_config of TrainingArguments: the keyword arguments of Liger's
// apply_liger_kernel_to_MODEL (liger-kernel 0.8, transformers/monkey_patch.py).
#pragma once

#include "base/result.h"
#include "workload/train_options.h"

namespace memtape {

/// `--use_liger_kernel [BOOL]`
Result<void> set_use_liger_kernel(const NamedValue& option, TrainRecipe& recipe);

/// `--liger_kernel_config JSON`; it says nothing without use_liger_kernel.
Result<void> set_liger_kernel_config(const NamedValue& option, TrainRecipe& recipe);

}  // namespace memtape
