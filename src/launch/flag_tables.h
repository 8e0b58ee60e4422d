// SPDX-License-Identifier: Apache-2.0
// The tables of flags (data/launch, one for each program): a program's own spellings, and the
// environment variables that stand for some flags. Only the engine itself knows what its flags
// mean.
#pragma once

#include <span>

#include "formats/flags.h"
#include "serving/serve_engine.h"

namespace memtape::launch {

struct VariableOfFlag {
  std::string_view variable, flag;
};

struct FlagTable {
  std::span<const Flag> flags;
  std::span<const VariableOfFlag> variables;  ///< its name is empty if there is none
};

/// The flags; those that `memtape serve` takes, too, have the names that they have there.
std::vector<Flag> as_served_by(const ServeEngine& engine, std::span<const Flag> flags);

}  // namespace memtape::launch

namespace memtape::data {

/// Their meanings are the attributes that they set.
std::span<const Flag> megatron_arguments();
// The table of each file of data/launch.
#include "launch/flag_tables.inc"

}  // namespace memtape::data
