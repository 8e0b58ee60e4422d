// SPDX-License-Identifier: Apache-2.0
// TrainingArguments.fsdp and fsdp_config (transformers 5.17, training_args.py, _process_fsdp_args),
// and the keys that accelerate launch hands its plugin through the environment (accelerate 1.15,
// utils/dataclasses.py).
#pragma once

#include "base/result.h"
#include "option/value.h"
#include "workload/train_recipe.h"

namespace memtape::transformers {

/// fsdp: true, or the older words "full_shard auto_wrap offload".
Result<void> set_fsdp(const option::Said& said, TrainRecipe& recipe);
/// fsdp_config: kept until all options are known, since it means nothing without fsdp.
Result<void> set_fsdp_config(const option::Said& said, TrainRecipe& recipe);
/// Once all options are read: the plugin that both amount to.
Result<void> finish_fsdp(TrainRecipe& recipe);

}  // namespace memtape::transformers
