// SPDX-License-Identifier: Apache-2.0
// memtape.lock: what each run needed when it was accepted last, and of what that was made, part by
// part, so that what grew can be named.
#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "report/peak_parts.h"

namespace memtape::cli {

/// What a run needs: the peak of its fullest rank.
struct Need {
  Bytes peak = 0;
  report::PeakParts parts;

  /// Lock files of earlier versions, or written by hand, do not say all of it.
  bool is_taken_apart() const { return report::sum_of(parts) == peak; }
};

/// A run as it was accepted.
struct LockedRun {
  std::string command;
  Need need;
};

using Lock = std::map<std::string, LockedRun>;  ///< by the run's name

/// "memtape.lock" for "memtape.toml".
std::string lock_file_of(const std::string& budget_file);

/// Nothing where there is no such file.
Result<Lock> read_lock(const std::string& file);
Result<void> write_lock(const std::string& file, const Lock& lock);

}  // namespace memtape::cli
