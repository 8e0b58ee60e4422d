// SPDX-License-Identifier: Apache-2.0
// A tape file: the allocator events of one process with its steps and phases, as the agent wrote
// them (phantom/agent/memtape_agent/step_tape.py says how).
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
  std::vector<std::string> places;  ///< what the tape's ops point into: Python places
  std::int64_t dropped = 0;         ///< allocations before the first that is kept
  int step = 0;                     ///< the last whole one; marks count from 0
};

Result<TapeFile> read_tape_file(const std::filesystem::path& path);

}  // namespace memtape::phantom_run
