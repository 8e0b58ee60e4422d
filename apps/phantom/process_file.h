// SPDX-License-Identifier: Apache-2.0
// A process file: what the agent in one Python process has written
// (phantom/agent/memtape_agent/session.py).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "report/phantom_run.h"

namespace memtape::phantom_run {

struct ProcessFile {
  std::string python, torch;
  std::vector<report::RunEntry> entries;  ///< one for each device
  std::vector<report::DataRead> reads;
  std::vector<report::Invention> inventions;
  std::vector<std::string> warnings;
  int rank = 0;
  bool is_rank = false;  ///< of several
  bool finished = true;  ///< it has come to its report, and is not only known by its last step
  bool stopped = false;  ///< by --stop-after
  std::string died;      ///< the error that ended it
};

Result<ProcessFile> read_process_file(const std::filesystem::path& path);

}  // namespace memtape::phantom_run
