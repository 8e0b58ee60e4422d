// SPDX-License-Identifier: Apache-2.0
// PickleValue: what an opcode of a pickle pushes, in eight bytes. Whole numbers and booleans are
// stored by value, everything else by its index in the store of its kind.
#pragma once

#include <cstdint>

namespace memtape {

class PickleValue {
 public:
  enum class Kind : std::uint8_t {
    none,
    boolean,
    integer,
    real,   ///< its value is not kept, because nothing that is read from a snapshot is one
    other,  ///< an integer of more than 60 bits, or bytes
    text,
    list,
    dict,
    tuple,
    event,
    frame,
    block,
  };

  constexpr PickleValue() = default;
  constexpr PickleValue(Kind kind, std::int64_t payload)
      : bits_(static_cast<std::uint64_t>(payload) << kKindBits | static_cast<std::uint64_t>(kind)) {
  }

  static constexpr bool holds(std::int64_t n) { return n >= -(kLimit) && n < kLimit; }
  static constexpr PickleValue integer(std::int64_t n) {
    return holds(n) ? PickleValue(Kind::integer, n) : PickleValue(Kind::other, 0);
  }

  constexpr Kind kind() const { return static_cast<Kind>(bits_ & kKindMask); }
  constexpr bool is(Kind kind) const { return this->kind() == kind; }
  /// The value of an integer or a boolean, else the index.
  constexpr std::int64_t payload() const { return static_cast<std::int64_t>(bits_) >> kKindBits; }
  constexpr std::size_t index() const { return static_cast<std::size_t>(payload()); }
  constexpr bool operator==(const PickleValue&) const = default;

 private:
  static constexpr int kKindBits = 4;
  static constexpr std::uint64_t kKindMask = (1U << kKindBits) - 1;
  static constexpr std::int64_t kLimit = std::int64_t{1} << 59;

  std::uint64_t bits_ = 0;
};
static_assert(sizeof(PickleValue) == 8);

}  // namespace memtape
