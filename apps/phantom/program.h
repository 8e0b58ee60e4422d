// SPDX-License-Identifier: Apache-2.0
// Program: the command that the user wants run, and the PyTorch that it will import, as far as that
// can be known beforehand: a command that is a Python interpreter, or a script whose first line
// names one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace memtape::phantom_run {

/// What the interpreter's torch was built for.
struct InstalledTorch {
  std::string version;  ///< "" when torch is not installed
  std::string cuda;     ///< "13.0"; "" for a build without CUDA
  std::string cudnn;    ///< "9.19.0.56", or ""
};

struct Program {
  std::string path;                     ///< of the executable
  std::string interpreter;              ///< of Python, or ""
  std::optional<InstalledTorch> torch;  ///< when there is an interpreter that could be asked
};

/// A command that is not there, or cannot be executed, is an error.
Result<Program> find_program(const std::vector<std::string>& command);

/// The major version of CUDA whose libraries the program will load; nothing when unknown. An error
/// when its torch is missing or of a kind that a phantom GPU cannot serve.
Result<std::optional<int>> cuda_of(const Program& program);

}  // namespace memtape::phantom_run
