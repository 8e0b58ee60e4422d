// SPDX-License-Identifier: Apache-2.0
// What the translators of serving commands share: flags as options, numbers with units, the GPUs
// that a command leaves visible, the product of parallel sizes, and the warnings about what was
// read.
#pragma once

#include <initializer_list>

#include "launch/flag_tables.h"
#include "launch/translation.h"

namespace memtape::launch {

/// The product of the parallel sizes that were given. It is nothing if one of them is not a size.
std::optional<std::int64_t> product_of(const ReadFlags& flags,
                                       std::initializer_list<std::string_view> sizes);

/// Adds each modelled flag as the option that it means, with MODEL among them. A flag that `take`
/// handles is left to it.
using TakeFlag = bool (*)(const GivenFlag& given, Translation& translation);
void add_flags(const ReadFlags& flags, Translation& translation, TakeFlag take = nullptr);

/// An Error, unless there is a model.
Result<void> check_model(const Translation& translation, std::string_view program,
                         std::string hint);

/// Adds the warnings about flags that are unknown or not modelled.
void add_warnings(Translation& translation, const ReadFlags& flags, std::string_view program);

/// A server whose flags are options of `memtape serve MODEL --engine ENGINE`.
struct ServerProgram {
  std::string_view name = {};            ///< its name in errors, "vllm serve"; "": as it was typed
  std::string_view engine, names_model;  ///< "-m FILE.gguf"
  /// Flags are read as argparse reads them, the model is a word, and there is --config FILE.
  bool is_python = true;
  bool passes_words = false;  ///< it continues after a word that belongs to no flag
  std::span<const Flag> (*flags)() = nullptr;
  /// Turns its words into the form that the flags have.
  std::vector<std::string> (*words)(std::vector<std::string> typed) = nullptr;
  std::optional<std::int64_t> (*ranks)(const ReadFlags& flags) = nullptr;
  /// Adds options that stand before those of the flags.
  Result<void> (*begin)(const LaunchCommand& command, const ReadFlags& flags,
                        Translation& translation) = nullptr;
  TakeFlag take = nullptr;
  /// Reads the variables of its environment that replace flags.
  ReadFlags (*variables)(const LaunchCommand& command) = nullptr;
  std::string_view environment = {};  ///< its name in warnings: "vLLM's environment"
};
Result<Translation> translate(const ServerProgram& server, const LaunchCommand& command);

/// Reads variables that begin with `prefix` as the flags that they are named after.
ReadFlags read_variables(const LaunchCommand& command, std::string_view prefix,
                         std::span<const Flag> table);

/// The flags of a program, with the names that its engine has for them.
template <const ServeEngine& engine, FlagTable (*table)()>
std::span<const Flag> served_flags() {
  static const std::vector<Flag> flags = as_served_by(engine, table().flags);
  return flags;
}

}  // namespace memtape::launch
