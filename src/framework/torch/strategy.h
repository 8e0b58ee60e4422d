// SPDX-License-Identifier: Apache-2.0
// The strategy of a framework that spreads a model over GPUs: its own options under their own
// names, which are read from --strategy, and the sizes of its axes, whose product must be the
// number of GPUs.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "framework/torch/train_loop.h"
#include "mesh/layout.h"
#include "model/config_fields.h"
#include "workload/train_recipe.h"

namespace memtape::torch {

/// The only class of ranks, if all ranks run the same program on the same sizes.
std::vector<RankClass> all_alike(const LayoutRecipe& layout);

/// Reads --strategy by the table of a framework's options, which become the recipe's own part. A
/// value of the wrong type is an error.
template <class Options, std::size_t n>
Result<void> read_strategy(std::string_view json, const std::array<ConfigField<Options>, n>& table,
                           TrainRecipe& recipe) {
  Options said;
  return read_object(json, "--strategy", table, said).map([&] {
    recipe.own.of<Options>() = std::move(said);
  });
}

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

/// Checks that dp, if it is given, is all GPUs, and that no axis but the allowed ones has a size.
Result<void> check_data_parallel(const LayoutRecipe& layout,
                                 std::initializer_list<std::string_view> allowed = {"dp"});

/// Reads "mesh" of FSDP's options: [shard], [replicate, shard], or nothing for one axis over all
/// GPUs. The layout has the axes "replicate" and "shard".
Result<Layout> sharded_mesh(const std::vector<std::int64_t>& sizes, const LayoutRecipe& layout);

/// Whether the logits become float32 before cross entropy, as the option "loss" says it.
enum class LossNumbers : std::uint8_t { in_float, as_they_are };
Result<LossNumbers> cross_entropy_named(const std::string& loss, bool only_in_float);

/// The row of "loss" in tables of frameworks for which only logits in float32 are modelled.
template <class Options>
Result<void> check_loss(const Config& json, std::string_view name, Options&) {
  return cross_entropy_named(json.text(name), true).map([](LossNumbers) {});
}

}  // namespace memtape::torch
