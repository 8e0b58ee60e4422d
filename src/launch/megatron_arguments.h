// SPDX-License-Identifier: Apache-2.0
// The generated table of Megatron-LM's arguments (data/megatron_arguments.txt).
#pragma once

#include <span>

#include "launch/flags.h"

namespace memtape::launch {

struct MegatronArgument {
  Flag flag;               ///< its meaning is the attribute that it sets
  std::string_view value;  ///< "true", "false" or another constant; "int", "float", "text"; "=a|b"
};

}  // namespace memtape::launch

namespace memtape::data {

std::span<const launch::MegatronArgument> megatron_arguments();

}  // namespace memtape::data
