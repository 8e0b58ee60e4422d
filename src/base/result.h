// SPDX-License-Identifier: Apache-2.0
// Result<T>: the core rooms never throw. A function that can fail returns Result<T>; what failed is
// one Error, which the command line prints as one line and turns into an exit code.
#pragma once

#include <string>
#include <utility>

#include <tl/expected.hpp>

namespace memtape {

enum class ErrorKind {
  bad_input,    ///< the user can mend it: exit code 2
  unsupported,  ///< well formed, but not modelled: exit code 2
  internal,     ///< a broken invariant of memtape: exit code 3
};

/// What went wrong, where (file, option, key), and what would be right. Each part is a phrase
/// without a full stop.
struct Error {
  ErrorKind kind = ErrorKind::bad_input;
  std::string what;
  std::string where;
  std::string hint;

  /// "where: what (hint)" on one line.
  std::string line() const {
    std::string text = where.empty() ? what : where + ": " + what;
    return hint.empty() ? text : text + " (" + hint + ")";
  }
};

template <class T>
using Result = tl::expected<T, Error>;

/// An Error of the user's making, ready to return from a function of any Result<T>.
inline tl::unexpected<Error> bad_input(std::string what, std::string where = {},
                                       std::string hint = {}) {
  return tl::unexpected<Error>(
      {ErrorKind::bad_input, std::move(what), std::move(where), std::move(hint)});
}

inline tl::unexpected<Error> unsupported(std::string what, std::string where = {},
                                         std::string hint = {}) {
  return tl::unexpected<Error>(
      {ErrorKind::unsupported, std::move(what), std::move(where), std::move(hint)});
}

}  // namespace memtape
