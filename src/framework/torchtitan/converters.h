// SPDX-License-Identifier: Apache-2.0
// What the converters of --model.converters make of a model's products: torchao's linear layers and
// grouped products in 8 bits (torchtitan/components/quantization, torchao/float8 and
// torchao/prototype/mx_formats).
//
// Inputs and weights are saved for backward in 16 bits, whatever the recipe
// (matmul_with_hp_or_float8_args of torchao/float8/float8_linear.py). Compiled, the casts are fused
// into their neighbours: torchtitan's own runs need within 0.3 GiB of what they need in bf16.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "time/train_setup.h"
#include "workload/step_choices.h"

namespace memtape {
struct TrainRecipe;
}

namespace memtape::torchtitan {

struct Converters {
  std::vector<std::string> names;  ///< model.converters
  std::string float8_recipe;       ///< quantize.linear.float8.recipe_name; "": tensorwise
  /// enable_fsdp_float8_all_gather: shards are gathered in 8 bits, cast before they are sent.
  bool gathers_float8 = false;

  /// The numbers of linear layers' products, and of experts'. Not set: those of the parameters.
  std::optional<LowBits> linears() const;
  std::optional<LowBits> experts() const;
};

/// Refuses what torchtitan refuses: names that it lacks, a recipe beside the gather in float8, mxfp8
/// compiled over tensor parallel ranks.
Result<void> check(const Converters& converters, bool compiles, std::int64_t tp);

/// What the converters decide about a step's time.
void read_converters(const Converters& converters, time::TrainSetup& setup);

}  // namespace memtape::torchtitan
