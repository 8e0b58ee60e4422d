// SPDX-License-Identifier: Apache-2.0
// Numbers of the Python code that no size depends on. A ghost has no values, so an op only needs
// to know that an operand is a number; these names say what that number is in Python.
#pragma once

namespace memtape::ghost {

inline constexpr double kScale = 1.0;           ///< a factor or divisor that a configuration names
inline constexpr double kTokenId = 0.0;         ///< the id of a padding, mask or image token
inline constexpr double kIgnoreIndex = -100.0;  ///< the label of a token that the loss leaves out
inline constexpr double kLowest = -3e38;        ///< torch.finfo(dtype).min, or -inf
inline constexpr double kInfinity = 3e38;       ///< float("inf")
inline constexpr double kBase = 10000.0;        ///< what a power is of: rope_theta
inline constexpr double kLimit = 2.0;           ///< a bound or threshold that a configuration names

}  // namespace memtape::ghost
