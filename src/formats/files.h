// SPDX-License-Identifier: Apache-2.0
// Files that words may point at (a configuration in YAML or JSON), behind an interface, since rooms
// open no files.
#pragma once

#include <string>

#include "base/result.h"

namespace memtape {

class Files {
 public:
  Files() = default;
  virtual ~Files() = default;
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;

  /// The whole text. If the file cannot be read, the Error names it.
  virtual Result<std::string> read(const std::string& path) const = 0;
};

}  // namespace memtape
