// SPDX-License-Identifier: Apache-2.0
// Result<T>: rooms never throw. A function that can fail returns a Result<T>. Its failure is one
// Error, which the command line prints as one line and turns into an exit code.
#pragma once

#include <string>
#include <utility>

#include <tl/expected.hpp>

namespace memtape {

enum class ErrorKind {
  bad_input,    ///< the user can correct it: exit code 2
  unsupported,  ///< it is well formed, but not modelled: exit code 2
  internal,     ///< an invariant of memtape is broken: exit code 3
};

/// What went wrong, where (a file, an option, a key), and what would be right. Each part is a
/// phrase without a full stop.
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

/// An Error that the user has caused. A function with any Result<T> can return it.
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
