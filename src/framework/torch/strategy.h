// SPDX-License-Identifier: Apache-2.0
// The strategy of a framework that spreads a model over GPUs: its own options under their own
// names, which are read from --strategy, and the sizes of its axes, whose product must be the
// number of GPUs.
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

/// The only class of ranks, if all ranks run the same program on the same sizes.
std::vector<RankClass> all_alike(const LayoutRecipe& layout);

/// Reads the JSON of --strategy. A key that is not in `known` is an error that names the nearest
/// one.
Result<Config> read_strategy(const TrainRecipe& recipe, std::span<const std::string_view> known);

/// Checks that only these axes were given sizes (out of "dp", "tp", "pp", "cp", "ep", "etp", "sp",
/// "vpp" and "zero"). Every axis may have the size 1.
Result<void> check_axes(const LayoutRecipe& layout,
                        std::initializer_list<std::string_view> allowed);

/// The size of the axis that takes the GPUs which the other axes leave. `given` is set if the user
/// named it. If the GPUs do not divide, the error says what would.
Result<std::int64_t> remaining_axis(const LayoutRecipe& layout, std::string_view axis,
                                    std::optional<std::int64_t> given, std::int64_t others);

/// "one of 1, 2, 4": the divisors of `n` up to 1,024.
std::string divisors_of(std::int64_t n);

/// Reads the JSON of --strategy of a framework whose only axis is dp.
Result<Config> read_data_parallel_strategy(const TrainRecipe& recipe,
                                           std::span<const std::string_view> known);

/// Reads "bf16", "fp32" or "fp16", or a name that torch prints ("bfloat16", "torch.bfloat16"). It
/// returns nothing for null.
Result<std::optional<DType>> optional_dtype(const Config& config, std::string_view key);

}  // namespace memtape::torch
