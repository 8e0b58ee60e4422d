// SPDX-License-Identifier: Apache-2.0
// What torchtune's lora_* builders adapt: lora_attn_modules, apply_lora_to_mlp and
// apply_lora_to_output.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "workload/lora_recipe.h"

namespace memtape::torchtune {

struct Lora {
  std::int64_t rank = 8;
  double dropout = 0.0;
  bool query = false, key = false, value = false, output_proj = false, mlp = false, output = false;
};

/// --lora-targets by torchtune's words: q_proj, k_proj, v_proj, output_proj, mlp, output.
Result<Lora> read_lora(const LoraRecipe& recipe);

}  // namespace memtape::torchtune
