// SPDX-License-Identifier: Apache-2.0
// Shows the answer of `memtape verify` in the form that was asked for, for training and for
// serving, and returns the exit code.
#pragma once

#include "answer/options.h"
#include "report/verification.h"
#include "terminal.h"

namespace memtape::cli {

/// Shows the script of the real step instead of running it.
inline int show(const Result<std::string>& script, Terminal& terminal) {
  if (!script) return terminal.fail(script.error());
  terminal.print(*script);
  return ExitCode::fits;
}

/// The exit code says whether the two sides are equal.
inline int show(const report::Verification& v, const answer::OutputOptions& output,
                Terminal& terminal) {
  terminal.print(output.json    ? report::json(v)
                 : output.quiet ? std::string(v.exact() ? "exact\n" : "not exact\n")
                                : report::text(v));
  return v.exact() ? ExitCode::fits : ExitCode::does_not_fit;
}

}  // namespace memtape::cli
