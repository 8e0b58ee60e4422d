// SPDX-License-Identifier: Apache-2.0
// LogTables: figures in tables, for which more than one line must be read: nvidia-smi, nvidia-smi
// pmon, torch.cuda.memory_summary() and llama.cpp's breakdown of memory.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "evidence/start_up_log.h"

namespace memtape {

class LogTables {
 public:
  /// Reads the next line and returns its figures.
  std::vector<LogFigure> read(std::string_view line, std::size_t number);

 private:
  void read_smi(std::string_view line, std::size_t number, std::vector<LogFigure>& found);
  void read_pmon(std::string_view line, std::size_t number, std::vector<LogFigure>& found);
  void read_breakdown(std::string_view line, std::size_t number, std::vector<LogFigure>& found);
  void read_summary(std::string_view line, std::size_t number, std::vector<LogFigure>& found);

  int gpu_ = -1;  ///< that of the row above in nvidia-smi's table
  std::vector<std::string> pmon_columns_;
  std::string summary_device_;  ///< "GPU 0", while a memory summary is read
};

}  // namespace memtape
