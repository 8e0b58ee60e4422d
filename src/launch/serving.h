// SPDX-License-Identifier: Apache-2.0
// What the translations of serving commands share: numbers with units, the GPUs that a command
// leaves visible, the product of parallel sizes, and the warnings of what was read.
#pragma once

#include <initializer_list>

#include "launch/translation.h"

namespace memtape::launch {

/// human_readable_int of vLLM and SGLang: "8k" is 8000, "8K" 8192, "1.5k" 1500. What is no such
/// number stays.
std::string plain_number(const std::string& text);

/// The product of parallel sizes that were given, or nothing where one is no size.
std::optional<std::int64_t> product_of(const ReadFlags& flags,
                                       std::initializer_list<std::string_view> sizes);

/// How many GPUs CUDA_VISIBLE_DEVICES or the container leaves; nothing where nothing says.
std::optional<std::int64_t> visible_gpus(const LaunchCommand& command);

/// A serving command's beginning: as many GPUs as `ranks`, which must not be more than are visible.
Result<Translation> begin_serving(const LaunchCommand& command, std::string_view engine,
                                  std::optional<std::int64_t> ranks);

/// The warnings about flags that are unknown or not modelled.
void add_warnings(Translation& translation, const ReadFlags& flags, std::string_view program);

/// Variables that begin with `prefix`, read as flags of their names.
ReadFlags read_variables(const LaunchCommand& command, std::string_view prefix,
                         std::span<const Flag> table);

}  // namespace memtape::launch
