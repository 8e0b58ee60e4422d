// SPDX-License-Identifier: Apache-2.0
// Presets: one option that stands for a recipe that people follow. What is said beside it goes
// before its parts.
#pragma once

#include <span>
#include <vector>

#include "workload/train_options.h"

namespace memtape {

/// The options with --qlora taken apart: 4-bit weights (nf4, double quantization), adapters on all
/// linear layers, paged 8-bit AdamW, checkpointing and bf16 under Trainer, one sequence at a time.
Result<std::vector<NamedValue>> with_presets(std::vector<NamedValue> options);

}  // namespace memtape
