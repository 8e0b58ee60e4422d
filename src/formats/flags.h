// SPDX-License-Identifier: Apache-2.0
// Reads the flags of other programs as argparse does: `--name value`, `--name=value`, `-xvalue`, or
// a prefix that fits only one name. A table says what a program takes. A flag that is not in the
// table is an error that names the nearest one.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "formats/remarks.h"

namespace memtape {

/// How many words follow a flag: none, one, one or none, or all words up to the next flag.
enum class Arity : std::uint8_t { none, one, optional, many };

/// What a flag does to memory: nothing, something that memtape models, or something that it does
/// not model (a warning).
enum class Effect : std::uint8_t { none, modelled, not_modelled };

struct Flag {
  std::string_view name;  ///< "--tensor-parallel-size" or "-tp"
  Arity arity = Arity::one;
  Effect effect = Effect::none;
  /// The name of the flag once it has been read: memtape's option, or the program's own name for
  /// it.
  std::string_view meaning = {};
  bool is_count = false;  ///< a number that may have a unit: "8k"
  /// For a program that checks values: "int", "float", "size" (none below 0), "text", one of "=a|b",
  /// or what the flag stands for without a value ("true").
  std::string_view value = {};
};

struct GivenFlag {
  const Flag* flag = nullptr;
  std::vector<std::string> values;
};

/// A flag that is in no table and that the style lets pass.
struct UnknownFlag {
  std::string typed;
  std::string_view nearest;  ///< "" if none is near
  bool took_value = false;   ///< the word after it belongs to it
};

struct ReadFlags {
  std::vector<GivenFlag> given;  ///< in the order of the command line
  std::vector<UnknownFlag> unknown;
  std::vector<std::string> operands;  ///< words that do not belong to a flag
  /// The number of words that were read; not all, if it stopped at an operand.
  std::size_t end = 0;

  /// The last flag with that meaning, or with that name if it has no meaning. It is null if there
  /// is none.
  const GivenFlag* last(std::string_view meaning) const;
  /// The last value of a flag with that meaning, or with that name if it has no meaning.
  std::optional<std::string> value(std::string_view meaning) const;
  bool has(std::string_view meaning) const;
};

struct FlagStyle {
  std::string_view program;      ///< its name in errors
  bool stop_at_operand = false;  ///< what follows the first operand belongs to another program
  bool prefixes = true;          ///< a prefix of only one name stands for it
  bool underscores_are_dashes = true;  ///< --nproc_per_node is --nproc-per-node
  bool attached_values = true;         ///< -n4 is -n 4
  /// A switch may have a value, "--flag=false" or "--flag True": false is its --no- name, or nothing.
  bool truths = false;
  bool unknown_pass = false;  ///< together with the word that follows, unless that is a flag
};

Result<ReadFlags> read_flags(std::span<const std::string> words, std::span<const Flag> table,
                             const FlagStyle& style);

/// Whether read_flags failed at a flag that is not in the table and near none that is.
bool is_foreign_flag(const Error& error);

/// An Error for a word that belongs to no flag.
Result<void> no_operands(const ReadFlags& flags, std::string_view program);

/// "unknown argument --name" for each flag that passed, and "--name has an effect that is not
/// modelled" for each such flag.
Remarks remarks_of(const ReadFlags& flags, std::string_view program);

}  // namespace memtape
