// SPDX-License-Identifier: Apache-2.0
// Megatron-Bridge: a plan as overrides of one of its recipes, and adapters, which pretrain_gpt.py
// has not, as the recipe that has them (scripts/training/run_recipe.py).
#pragma once

#include <string>

#include "exports/parts.h"
#include "framework/megatron/arguments.h"
#include "model/config.h"

namespace memtape::exports {

/// A value as a word: a text without its quotes.
std::string bridge_text(const Config& c, const std::string& key);

/// A line for each field of ConfigContainer.
File bridge_overrides(const Config& c, const Training& plan);

Result<Export> export_bridge(const Training& plan, const Facts& facts, const Config& c,
                             const megatron::Arguments& arguments);

}  // namespace memtape::exports
