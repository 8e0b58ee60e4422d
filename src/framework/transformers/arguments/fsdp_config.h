// SPDX-License-Identifier: Apache-2.0
// TrainingArguments.fsdp and fsdp_config (transformers 5.17, training_args.py, _process_fsdp_args),
// and the keys that accelerate launch passes to its plugin through the environment (accelerate
// 1.15, utils/dataclasses.py).
#pragma once

#include "base/result.h"
#include "option/value.h"

namespace memtape {
struct TrainRecipe;
}

namespace memtape::transformers {

/// fsdp, which is true or the older words "full_shard auto_wrap offload".
Result<void> set_fsdp(const option::Said& said, TrainRecipe& recipe);
/// fsdp_config. It is kept until all options are known, because it means nothing without fsdp.
Result<void> set_fsdp_config(const option::Said& said, TrainRecipe& recipe);
/// Runs when all options have been read, and makes the plugin that both of them ask for.
Result<void> finish_fsdp(TrainRecipe& recipe);

}  // namespace memtape::transformers
