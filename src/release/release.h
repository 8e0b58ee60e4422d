// SPDX-License-Identifier: Apache-2.0
// Release: which version of each package a run is meant to have. What differs between versions is a
// Change with a name (torch_changes.h, transformers_changes.h ...): code asks whether the release
// has it, and never compares numbers.
//
//   if (ghost::has(changes::kLossShiftsLabels)) ...
#pragma once

#include <array>
#include <cstddef>

#include "release/package.h"
#include "release/version.h"

namespace memtape {

/// A difference between two releases of a package that changes memory.
struct Change {
  Package package;
  Version since;            ///< the first release that has it
  std::string_view what;    ///< what is true since then, as a whole sentence
  std::string_view source;  ///< the file and the symbol, or the pull request
};

class Release {
 public:
  /// Has the newest release of every package whose rules are known.
  Release();

  Version of(Package package) const { return versions_[static_cast<std::size_t>(package)]; }
  void set(Package package, Version version) {
    versions_[static_cast<std::size_t>(package)] = version;
  }
  bool has(const Change& change) const { return of(change.package) >= change.since; }

  bool operator==(const Release&) const = default;

 private:
  static constexpr std::size_t kPackages = static_cast<std::size_t>(Package::sglang) + 1;
  std::array<Version, kPackages> versions_;
};

}  // namespace memtape
