// SPDX-License-Identifier: Apache-2.0
// ServeFlag and ServeOptions: an engine's flags as data (all spellings, the form of the value, one
// line of help), and the values that were given for them, by the first spelling without its dashes.
// Accessors check the value and name the flag in the error.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace memtape {

struct ServeFlag {
  std::string_view spellings;  ///< "--ctx-size -c --max-model-len": the first is the name
  std::string_view value;      ///< "N"; "" for a switch, "[on|off]" where it may come without one
  std::string_view help;       ///< "" keeps it out of the help

  /// The first spelling without its dashes: "ctx-size".
  std::string_view name() const;
  bool is_spelled(std::string_view word) const;
  bool is_switch() const { return value.empty(); }
  bool needs_value() const { return !value.empty() && value.front() != '['; }
};

/// The flag that is spelled so, or null.
const ServeFlag* find_flag(std::span<const ServeFlag> flags, std::string_view spelling);

struct IntegerRange {
  std::int64_t least = 0;
  std::int64_t most = std::int64_t{1} << 40;
};

class ServeOptions {
 public:
  void add(std::string_view name, std::string value) {
    values_.emplace_back(std::string(name), std::move(value));
  }

  bool has(std::string_view name) const { return find(name) != nullptr; }
  /// The last value given, or null.
  const std::string* find(std::string_view name) const;
  /// All values given, in order.
  std::vector<std::string> all(std::string_view name) const;
  std::string text(std::string_view name, std::string_view otherwise) const;

  Result<std::int64_t> integer(std::string_view name, std::int64_t otherwise,
                               IntegerRange range = {}) const;
  Result<double> number(std::string_view name, double otherwise) const;
  /// The index of the value in `choices`, which has `otherwise` as one of them.
  Result<std::size_t> choice(std::string_view name, std::span<const std::string_view> choices,
                             std::string_view otherwise) const;

  /// Name and value in the order given.
  const std::vector<std::pair<std::string, std::string>>& values() const { return values_; }

 private:
  std::vector<std::pair<std::string, std::string>> values_;
};

}  // namespace memtape
