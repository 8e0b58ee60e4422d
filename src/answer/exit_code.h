// SPDX-License-Identifier: Apache-2.0
// What scripts learn from the exit code of the program, and what callers get together with the JSON
// of an answer (docs/json.md).
#pragma once

namespace memtape::answer {

struct ExitCode {
  enum Value : int {
    fits = 0,  ///< or no device was named, or the command succeeded
    does_not_fit = 1,
    bad_input = 2,
    internal_error = 3,
  };
};

}  // namespace memtape::answer
