// SPDX-License-Identifier: Apache-2.0
// Program: the command that the user wants to run, and the PyTorch that it will import, as far as
// that can be known beforehand: the command is a Python interpreter, or a script whose first line
// names one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace memtape::phantom_run {

/// For which CUDA the interpreter's torch was built.
struct InstalledTorch {
  std::string version;  ///< "" if torch is not installed
  std::string cuda;     ///< "13.0"; "" for a build without CUDA
  std::string cudnn;    ///< "9.19.0.56", or ""
};

struct Program {
  std::string path;                     ///< that of the executable
  std::string interpreter;              ///< that of Python, or ""
  std::optional<InstalledTorch> torch;  ///< set if there is an interpreter that could be asked
};

/// It is an error if the command does not exist or cannot be executed.
Result<Program> find_program(const std::vector<std::string>& command);

/// The major version of the CUDA libraries that the program will load, or nothing if it is not
/// known. It is an error if its torch is missing, or of a kind for which a phantom GPU does not
/// work.
Result<std::optional<int>> cuda_of(const Program& program);

}  // namespace memtape::phantom_run
