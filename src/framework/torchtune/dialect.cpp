// SPDX-License-Identifier: Apache-2.0
// torchtune's finetuning recipes for one GPU.
#include "framework/torch/dialect.h"

#include "framework/torch/dialect_parts.h"
#include "framework/torchtune/finetune.h"
#include "framework/torchtune/levers.h"
#include "framework/torchtune/lora.h"

namespace memtape::torchtune {

extern const Dialect kDialect;
constinit const Dialect kDialect{
    .framework = {.name = "torchtune",
                  .summary = "torchtune's finetuning recipes, of all weights or of adapters",
                  .absent = torch::kAbsentOfFinetuning,
                  .start = start,
                  .strategy = read_strategy},
    .tasks = torch::kLanguageTasks,
    .packages = packages_of_recipes,
    .settle = resolved,
    .run = run_training};

}  // namespace memtape::torchtune
