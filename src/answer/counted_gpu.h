// SPDX-License-Identifier: Apache-2.0
// A GPU with how many of it there are, as people write them together: "8xh100-80gb", "4 x A100",
// and as SkyPilot and Slurm do, "H100:8".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "option/given.h"

namespace memtape::answer {

struct CountedName {
  std::string name;  ///< "h100-80gb"
  std::optional<std::int64_t> count;
};

CountedName counted_name(std::string_view text);

/// --gpu 8xh100-80gb becomes --gpus 8 and --gpu h100-80gb, unless --gpus says another number.
void separate_gpu_count(NamedValues& values);

}  // namespace memtape::answer
