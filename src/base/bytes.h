// SPDX-License-Identifier: Apache-2.0
// Bytes: every size in memtape is a whole number of bytes in a signed 64-bit integer, so that
// differences are safe. Floating point appears only in the last line of formatting. KiB, MiB and
// GiB are powers of two.
#pragma once

#include <cstdint>

namespace memtape {

using Bytes = std::int64_t;

inline namespace literals {
constexpr Bytes operator""_KiB(unsigned long long n) { return static_cast<Bytes>(n) << 10; }
constexpr Bytes operator""_MiB(unsigned long long n) { return static_cast<Bytes>(n) << 20; }
constexpr Bytes operator""_GiB(unsigned long long n) { return static_cast<Bytes>(n) << 30; }
}  // namespace literals

/// `n` rounded up to a multiple of `step` (step > 0, n >= 0).
constexpr Bytes round_up(Bytes n, Bytes step) { return (n + step - 1) / step * step; }

/// ceil(a / b) for a >= 0, b > 0.
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace memtape
