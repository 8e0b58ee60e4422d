// SPDX-License-Identifier: Apache-2.0
// LogFigure: one figure of memory that a log states. Such figures are in the start-up lines of
// vLLM, SGLang and llama.cpp, in the memory lines of Megatron, torchtitan, DeepSpeed, axolotl, torchtune, ms-swift, Unsloth and
// its trainers, in the tables of nvidia-smi (also pmon), and in torch.cuda.memory_summary().
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "evidence/quantity.h"

namespace memtape {

struct LogFigure {
  enum class Unit : std::uint8_t { bytes, count, ratio };

  std::string program;  ///< "vllm", "nvidia-smi", ...
  std::string name;     ///< "weights", "kv_cache", ... as in the JSON's data
  std::string where;    ///< "CUDA0", "GPU 0", "rank 3"; "" if there is only one
  Unit unit = Unit::bytes;
  double first = 0, last = 0, highest = 0;  ///< of a line that occurs several times
  Bytes within = 0;                         ///< half a unit of the last digit
  std::int64_t times = 1;
  std::size_t line = 0;  ///< that of the first occurrence
};

/// In the order of their first lines.
std::vector<LogFigure> log_figures(std::string_view text);

}  // namespace memtape
