// SPDX-License-Identifier: Apache-2.0
// Terminal: the two streams a command writes to and what they can show. The answer goes to the
// output and nothing else does, so that it can be piped; one line about what went wrong goes to the
// other stream. Colour: only on a terminal, never when NO_COLOR is set and not empty (no-color.org)
// or TERM is "dumb". Width: COLUMNS, else what the terminal says, else 80.
#pragma once

#include <cstdio>
#include <string_view>

#include "answer/exit_code.h"
#include "base/result.h"

namespace memtape::cli {

using answer::ExitCode;

class Terminal {
 public:
  struct Look {
    bool colour = false;
    int width = 80;
  };

  Terminal(std::FILE* output, std::FILE* errors, Look look)
      : output_(output), errors_(errors), look_(look) {}

  /// Standard output and standard error of this process.
  static Terminal of_process();

  bool colour() const { return look_.colour; }
  int width() const { return look_.width; }

  void print(std::string_view text) { std::fwrite(text.data(), 1, text.size(), output_); }

  /// "memtape: text" as one line on the error stream; control characters in it are shown as '?'.
  void note(std::string_view text);

  /// Whether people look at the error stream.
  bool shows_progress() const;

  /// Shows `text` in place of the last such line, on an error stream that people look at; "" ends
  /// them.
  void progress(std::string_view text);

  /// Notes the error and returns the exit code of its kind.
  int fail(const Error& error);

  /// Hands everything printed to the system: false when it could not be written (a full disk, a
  /// closed pipe).
  bool flush();

 private:
  std::FILE* output_;
  std::FILE* errors_;
  Look look_;
};

}  // namespace memtape::cli
