// SPDX-License-Identifier: Apache-2.0
// memtape.toml: runs by name, each a command of this program with what it may need (docs/ci.md).
//
//     [runs.llama]
//     command = "train meta-llama/Llama-3.1-8B --sequence-length 4096 --gpu h100-80gb"
//     limit = "78 GiB"
//     allow = "64 MiB"
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace memtape::cli {

/// One [runs.NAME] of the file.
struct Budget {
  std::string name, command;
  std::vector<std::string> words;  ///< the words of the command, as a shell would split it
  std::optional<Bytes> limit;      ///< for the whole device
  Bytes allowed_growth = 0;  ///< the bytes that it may have grown since the lock file was written
};

Result<std::vector<Budget>> read_budgets(const std::string& file);

}  // namespace memtape::cli
