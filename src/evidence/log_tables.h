// SPDX-License-Identifier: Apache-2.0
// LogTables: figures that stand in tables, which take more than one line to read: nvidia-smi,
// nvidia-smi pmon and torch.cuda.memory_summary().
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "evidence/start_up_log.h"

namespace memtape {

class LogTables {
 public:
  /// The figures of the next line.
  std::vector<LogFigure> read(std::string_view line, std::size_t number);

 private:
  void read_smi(std::string_view line, std::size_t number, std::vector<LogFigure>& found);
  void read_pmon(std::string_view line, std::size_t number, std::vector<LogFigure>& found);
  void read_summary(std::string_view line, std::size_t number, std::vector<LogFigure>& found);

  int gpu_ = -1;  ///< of nvidia-smi's row above
  std::vector<std::string> pmon_columns_;
  std::string summary_device_;  ///< "GPU 0" within a memory summary
};

}  // namespace memtape
