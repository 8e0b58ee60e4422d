// SPDX-License-Identifier: Apache-2.0
// A tape file: the allocator events of one process, with its steps and phases, as the agent has
// written them (phantom/agent/memtape_agent/step_tape.py describes the format).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "tape/tape.h"

namespace memtape::phantom_run {

struct TapeFile {
  Tape tape;
  std::vector<std::string> places;  ///< the Python places to which the tape's ops point
  std::int64_t dropped = 0;         ///< the number of allocations before the first that is kept
  int step = 0;                     ///< the last whole step; marks count from 0
};

Result<TapeFile> read_tape_file(const std::filesystem::path& path);

}  // namespace memtape::phantom_run
