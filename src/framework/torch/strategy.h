// SPDX-License-Identifier: Apache-2.0
// The strategy of a framework that spreads a model over GPUs: its own options by their own names,
// read from --strategy, and the sizes of its axes, which must multiply to the number of GPUs.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "framework/torch/train_loop.h"
#include "model/config.h"

namespace memtape {
struct TrainRecipe;
}

namespace memtape::torch {

/// The one class of ranks that all run the same program on the same sizes.
std::vector<RankClass> all_alike(const LayoutRecipe& layout);

/// The JSON of --strategy; a key that is not among `known` is an error that names the nearest.
Result<Config> read_strategy(const TrainRecipe& recipe, std::span<const std::string_view> known);

/// Whether only these axes were given sizes (of "dp", "tp", "pp", "cp", "ep", "etp", "sp", "vpp",
/// "zero"); 1 is every axis's size.
Result<void> check_axes(const LayoutRecipe& layout,
                        std::initializer_list<std::string_view> allowed);

/// The size of the axis that takes the GPUs the other axes leave; `given` where the user named it.
/// What does not divide is an error that says what would.
Result<std::int64_t> remaining_axis(const LayoutRecipe& layout, std::string_view axis,
                                    std::optional<std::int64_t> given, std::int64_t others);

/// "one of 1, 2, 4": what divides `n`, up to 1,024.
std::string divisors_of(std::int64_t n);

/// The JSON of --strategy of a framework that has no axis but dp.
Result<Config> read_data_parallel_strategy(const TrainRecipe& recipe,
                                           std::span<const std::string_view> known);

/// "bf16", "fp32", "fp16", or the names torch prints ("bfloat16", "torch.bfloat16"); nothing for
/// null.
Result<std::optional<DType>> optional_dtype(const Config& config, std::string_view key);

}  // namespace memtape::torch
