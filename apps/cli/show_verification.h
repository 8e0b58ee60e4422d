// SPDX-License-Identifier: Apache-2.0
// The answer of `memtape verify`, of training and serving alike: as asked for, and the exit code.
#pragma once

#include "answer/options.h"
#include "report/verification.h"
#include "terminal.h"

namespace memtape::cli {

/// The script of the real step, in place of running it.
inline int show(const Result<std::string>& script, Terminal& terminal) {
  if (!script) return terminal.fail(script.error());
  terminal.print(*script);
  return ExitCode::fits;
}

/// Exit code: whether the two sides are equal.
inline int show(const report::Verification& v, const answer::OutputOptions& output,
                Terminal& terminal) {
  terminal.print(output.json    ? report::json(v)
                 : output.quiet ? std::string(v.exact() ? "exact\n" : "not exact\n")
                                : report::text(v));
  return v.exact() ? ExitCode::fits : ExitCode::does_not_fit;
}

}  // namespace memtape::cli
