// SPDX-License-Identifier: Apache-2.0
#include "launch/flag_tables.h"

namespace memtape::launch {

std::vector<Flag> as_served_by(const ServeEngine& engine, std::span<const Flag> flags) {
  std::vector<Flag> named(flags.begin(), flags.end());
  for (Flag& flag : named)
    if (flag.effect == Effect::modelled && flag.meaning.empty())
      if (const auto* served = find_flag(engine.flags, flag.name)) flag.meaning = served->name();
  return named;
}

}  // namespace memtape::launch
