// SPDX-License-Identifier: Apache-2.0
// ServeOptions: the values that were given for an engine's flags, under the flag's first spelling
// without its dashes. Accessors check the value and name the flag in their errors.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "option/given.h"
#include "option/option.h"

namespace memtape {

using ServeFlag = option::Option;

/// The flag with that spelling, or null.
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
  /// The last value that was given, or null.
  const std::string* find(std::string_view name) const { return last_value(values_, name); }
  /// All values that were given, in order.
  std::vector<std::string> all(std::string_view name) const;
  std::string text(std::string_view name, std::string_view otherwise) const;

  Result<std::int64_t> integer(std::string_view name, std::int64_t otherwise,
                               IntegerRange range = {}) const;
  Result<double> number(std::string_view name, double otherwise) const;
  /// The index of the value in `choices`. `otherwise` is one of them.
  Result<std::size_t> choice(std::string_view name, std::span<const std::string_view> choices,
                             std::string_view otherwise) const;

  /// Names and values in the order in which they were given.
  const NamedValues& values() const { return values_; }

 private:
  NamedValues values_;
};

/// Reads flags one after the other; the first mistake is kept.
class FlagReader {
 public:
  explicit FlagReader(const ServeOptions& options) : options_(options) {}

  bool has(std::string_view name) const { return options_.has(name); }
  std::int64_t integer(std::string_view name, std::int64_t otherwise, IntegerRange range) {
    return take(options_.integer(name, otherwise, range));
  }
  double number(std::string_view name, double otherwise) {
    return take(options_.number(name, otherwise));
  }
  /// Of these, the first where none is given.
  std::size_t choice(std::string_view name, std::span<const std::string_view> choices) {
    return take(options_.choice(name, choices, choices.front()));
  }
  void fail(Error mistake) {
    if (!mistake_) mistake_ = std::move(mistake);
  }
  Result<void> done() const {
    return mistake_ ? Result<void>(tl::unexpected(*mistake_)) : Result<void>();
  }

 private:
  template <class T>
  T take(Result<T> value) {
    if (value) return *value;
    fail(std::move(value.error()));
    return {};
  }

  const ServeOptions& options_;
  std::optional<Error> mistake_;
};

}  // namespace memtape
