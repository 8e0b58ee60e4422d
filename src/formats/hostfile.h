// SPDX-License-Identifier: Apache-2.0
// Hostfiles of MPI and DeepSpeed: one host a line, and how many slots it has, which are GPUs for
// DeepSpeed (`worker-1 slots=8`) and processes for mpirun (`worker-1 slots=8`, `worker-1:8`).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace memtape {

struct Host {
  std::string name;
  std::int64_t slots = 1;
};

/// The hosts of a file, in its order. Lines that are empty or begin with # say nothing.
Result<std::vector<Host>> read_hostfile(std::string_view text, const std::string& file);

/// The hosts of mpirun's words: `-H worker-1:8,worker-2:8`.
std::vector<Host> listed_hosts(std::string_view words);

/// Which slots of the hosts a program uses. `include` and `exclude` have the form
/// NAME[:SLOT,SLOT...][@NAME...] (deepspeed/launcher/runner.py, parse_resource_filter).
struct SlotChoice {
  std::string include, exclude;
  std::optional<std::int64_t> hosts, slots_of_each;  ///< only the first ones
};

/// How many slots are used. It is nothing where the hosts would have to be known and are not. What
/// deepspeed refuses is an Error: slots that are no whole numbers ("0-3"), and words that contradict
/// each other.
Result<std::optional<std::int64_t>> chosen_slots(std::vector<Host> hosts, const SlotChoice& choice);

}  // namespace memtape
