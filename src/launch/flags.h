// SPDX-License-Identifier: Apache-2.0
// Flags of other programs, read as argparse reads them: `--name value`, `--name=value`, `-xvalue`,
// a prefix that only one name has. Each program says what it takes in a table; a flag that is in no
// table is an error that names the nearest.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "formats/remarks.h"

namespace memtape::launch {

/// How many words follow a flag: none; one; one or none; all up to the next flag.
enum class Arity : std::uint8_t { none, one, optional, many };

/// What a flag does to memory: nothing; what memtape models; what it does not (a warning).
enum class Effect : std::uint8_t { none, modelled, not_modelled };

struct Flag {
  std::string_view name;  ///< "--tensor-parallel-size" or "-tp"
  Arity arity = Arity::one;
  Effect effect = Effect::none;
  /// What the flag is called once read: memtape's option, or the program's own name for it.
  std::string_view meaning = {};
  bool is_count = false;  ///< a number that may have a unit: "8k"
  /// Of a program that checks values: "int", "float", "text", one of "=a|b", or what the flag alone
  /// stands for ("true").
  std::string_view value = {};
};

struct GivenFlag {
  const Flag* flag = nullptr;
  std::vector<std::string> values;
};

/// A flag that no table has, where the style lets it pass.
struct UnknownFlag {
  std::string typed;
  std::string_view nearest;  ///< "" when none is near
  bool took_value = false;   ///< the word after it went with it
};

struct ReadFlags {
  std::vector<GivenFlag> given;  ///< in the order of the command line
  std::vector<UnknownFlag> unknown;
  std::vector<std::string> operands;  ///< words that belong to no flag
  std::size_t end = 0;                ///< words read; less than all when it stopped at an operand

  /// The last flag of that meaning (or name, when it has none); null where there is none.
  const GivenFlag* last(std::string_view meaning) const;
  /// The last value given for a flag of that meaning (or name, when it has none).
  std::optional<std::string> value(std::string_view meaning) const;
  bool has(std::string_view meaning) const;
};

struct FlagStyle {
  std::string_view program;            ///< named in errors
  bool stop_at_operand = false;        ///< what follows the first operand is another program's
  bool prefixes = true;                ///< a prefix of one name stands for it
  bool underscores_are_dashes = true;  ///< --nproc_per_node is --nproc-per-node
  bool attached_values = true;         ///< -n4 is -n 4
  bool unknown_pass = false;           ///< with the word that follows, if that is no flag
};

Result<ReadFlags> read_flags(std::span<const std::string> words, std::span<const Flag> table,
                             const FlagStyle& style);

/// An Error for a word that belongs to no flag.
Result<void> no_operands(const ReadFlags& flags, std::string_view program);

/// "unknown argument --name" for each that passed, and "--name has an effect that is not modelled".
Remarks remarks_of(const ReadFlags& flags, std::string_view program);

}  // namespace memtape::launch
