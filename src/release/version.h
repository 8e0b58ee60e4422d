// SPDX-License-Identifier: Apache-2.0
// Version: the number of a release as its package is published, as far as it is needed to order
// releases.
//
//   Version::parse("2.15.0"), Version::parse("4.57"), Version::parse("2.8.0+cu128")
//
// Whatever follows the third number (a local label, rc1, .post1) is ignored: a release candidate
// counts as its release.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace memtape {

struct Version {
  std::int32_t major = 0, minor = 0, patch = 0;

  auto operator<=>(const Version&) const = default;
  std::string text() const;
  /// 4.57 of 4.57.6, as a version and in words.
  Version without_patch() const { return {major, minor}; }
  std::string minor_text() const;

  /// Reads one to three numbers with dots between them, and ignores what follows. It returns
  /// nothing if the text does not start so.
  static std::optional<Version> parse(std::string_view text);
};

}  // namespace memtape
