// SPDX-License-Identifier: Apache-2.0
// The options of a context parallel program: how keys and values go around (set_rotate_method), and
// whether the same GPUs also shard the model by fully_shard.
#pragma once

#include <optional>
#include <string_view>

#include "base/result.h"
#include "framework/fsdp2/options.h"
#include "framework/torch_cp/ring_attention.h"
#include "model/config_fields.h"

namespace memtape {
struct TrainRecipe;
}

namespace memtape::torch_cp {

/// By the words of set_rotate_method.
inline constexpr auto kRotations = choices<Rotation>(
    "unknown rotation", {{"allgather", Rotation::all_gather}, {"alltoall", Rotation::all_to_all}});

struct Options {
  Rotation rotate = Rotation::all_gather;
  std::optional<fsdp2::Options> fsdp2;
};

/// Reads --strategy into the recipe's own part.
Result<void> read_strategy(std::string_view json, TrainRecipe& recipe);
/// The options that the recipe says, with what its layout decides.
Result<Options> options_of(const TrainRecipe& recipe);

}  // namespace memtape::torch_cp
