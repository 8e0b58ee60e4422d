// SPDX-License-Identifier: Apache-2.0
// What the translations of serving commands share: flags as options, numbers with units, the GPUs
// that a command leaves visible, the product of parallel sizes, and the warnings of what was read.
#pragma once

#include <initializer_list>

#include "launch/flag_tables.h"
#include "launch/translation.h"

namespace memtape::launch {

/// The product of parallel sizes that were given, or nothing where one is no size.
std::optional<std::int64_t> product_of(const ReadFlags& flags,
                                       std::initializer_list<std::string_view> sizes);

/// A serving command's beginning: as many GPUs as `ranks`, which must not be more than are visible.
Result<Translation> begin_serving(const LaunchCommand& command, std::string_view engine,
                                  std::optional<std::int64_t> ranks);

/// Each modelled flag as the option that it means, MODEL among them; what `take` says otherwise is
/// left to it.
using TakeFlag = bool (*)(const GivenFlag& given, Translation& translation);
void add_flags(const ReadFlags& flags, Translation& translation, TakeFlag take = nullptr);

/// An Error unless there is a model.
Result<void> check_model(const Translation& translation, std::string_view program,
                         std::string hint);

/// The warnings about flags that are unknown or not modelled.
void add_warnings(Translation& translation, const ReadFlags& flags, std::string_view program);

/// A server whose words are those of `memtape serve MODEL --engine ENGINE`, with the model as a
/// word of its own or as a flag.
struct ServerProgram {
  const char* name;  ///< in errors: "vllm serve"
  const char* engine;
  const char* named_model;  ///< how a model is named: "vllm serve MODEL"
  std::span<const Flag> (*flags)();
  /// Its words as the flags have them.
  std::vector<std::string> (*words)(std::vector<std::string> typed) = nullptr;
  std::optional<std::int64_t> (*ranks)(const ReadFlags& flags) = nullptr;
  TakeFlag take = nullptr;
  /// Variables of its environment that stand for flags begin so.
  std::string_view prefix;
  std::string_view environment;  ///< in warnings: "vLLM's environment"
  FlagTable (*variables)();
  bool knows_all_variables = false;
};
Result<Translation> translate_server(const ServerProgram& server, const LaunchCommand& command);

/// The flags of a program with the names that its engine has for them.
template <const ServeEngine& engine, FlagTable (*table)()>
std::span<const Flag> served_flags() {
  static const std::vector<Flag> flags = as_served_by(engine, table().flags);
  return flags;
}

}  // namespace memtape::launch
