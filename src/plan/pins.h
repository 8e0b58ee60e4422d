// SPDX-License-Identifier: Apache-2.0
// Pins: what the user has decided, or has limited to a list: `--tp 8`, `--tp 1,2,4,8`.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "option/given.h"
#include "plan/candidate.h"

namespace memtape::plan {

class Pins {
 public:
  /// The values to which an axis is limited, or null if it is free.
  const std::vector<std::int64_t>* of(Axis axis) const {
    const auto& values = values_[static_cast<std::size_t>(axis)];
    return values ? &*values : nullptr;
  }
  void set(Axis axis, std::vector<std::int64_t> values) {
    values_[static_cast<std::size_t>(axis)] = std::move(values);
  }
  /// Whether the axis has exactly one value.
  bool fixes(Axis axis) const { return of(axis) && of(axis)->size() == 1; }

 private:
  std::array<std::optional<std::vector<std::int64_t>>, kAxes> values_;
};

/// Takes the pins out of the options.
Result<Pins> take_pins(NamedValues& options);

/// A value of an axis as its option spells it.
std::string value_text(Axis axis, std::int64_t value);

}  // namespace memtape::plan
