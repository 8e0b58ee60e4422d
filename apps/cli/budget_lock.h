// SPDX-License-Identifier: Apache-2.0
// memtape.lock: what each run needed when it was last accepted, and what that consisted of, part by
// part, so that the part that has grown can be named.
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

  /// Whether the parts add up to the peak. Lock files that are older, or that were written by hand,
  /// may lack parts.
  bool is_taken_apart() const { return report::sum_of(parts) == peak; }
};

/// A run as it was accepted.
struct LockedRun {
  std::string command;
  Need need;
};

using Lock = std::map<std::string, LockedRun>;  ///< by the name of the run

/// The name of the lock file: "memtape.lock" for "memtape.toml".
std::string lock_file_of(const std::string& budget_file);

/// It returns nothing if there is no such file.
Result<Lock> read_lock(const std::string& file);
Result<void> write_lock(const std::string& file, const Lock& lock);

}  // namespace memtape::cli
