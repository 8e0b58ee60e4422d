// SPDX-License-Identifier: Apache-2.0
// The generated tables of flags (data/launch): a program's own spellings, and the environment
// variables that stand for some of them.
#pragma once

#include <span>

#include "launch/flags.h"

namespace memtape::launch {

struct VariableOfFlag {
  std::string_view variable, flag;
};

struct FlagTable {
  std::span<const Flag> flags;
  std::span<const VariableOfFlag> variables;  ///< an empty name where there is none
};

}  // namespace memtape::launch

namespace memtape::data {

launch::FlagTable llamacpp_flags();
launch::FlagTable sglang_flags();
launch::FlagTable vllm_environment_flags();

}  // namespace memtape::data
