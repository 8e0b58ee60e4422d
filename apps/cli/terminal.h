// SPDX-License-Identifier: Apache-2.0
// Terminal: the two streams to which a command writes, and what they can show. Only the answer goes
// to the output, so that it can be piped; a line about what went wrong goes to the other stream.
// There is colour only on a terminal, and not if NO_COLOR is set and not empty (no-color.org), or
// if TERM is "dumb". The width is that in COLUMNS, or else the terminal's, or else 80.
#pragma once

#include <cstdio>
#include <string_view>

#include "answer/exit_code.h"
#include "answer/table.h"
#include "base/result.h"
#include "report/style.h"

namespace memtape::cli {

using answer::ExitCode;

class Terminal {
 public:
  struct Look {
    bool colour = false;
    int width = 80;
    bool draws = true;   ///< false: text alone, for a reader that is a program
    bool folds = false;  ///< whether rows of tables are as wide at most: not in a pipe, where a
                         ///< program reads them line by line
  };

  Terminal(std::FILE* output, std::FILE* errors, Look look)
      : output_(output), errors_(errors), look_(look) {}

  /// Standard output and standard error of this process.
  static Terminal of_process();

  bool colour() const { return look_.colour; }
  int width() const { return look_.width; }
  bool draws() const { return look_.draws; }
  answer::Widths widths() const { return {look_.width, look_.folds ? look_.width : 0}; }
  report::Style style() const { return {.colour = look_.colour, .draws = look_.draws}; }

  void print(std::string_view text) { std::fwrite(text.data(), 1, text.size(), output_); }

  /// Writes "memtape: text" as one line to the error stream. Control characters in it are shown as
  /// '?'.
  void note(std::string_view text);

  /// Whether people watch the error stream.
  bool shows_progress() const;

  /// Shows `text` in place of the last such line, if people watch the error stream. "" removes the
  /// line.
  void progress(std::string_view text);

  /// Notes the error and returns the exit code for its kind.
  int fail(const Error& error);

  /// Hands everything that was printed to the system. It returns false if that could not be written
  /// (a full disk, a closed pipe).
  bool flush();

 private:
  std::FILE* output_;
  std::FILE* errors_;
  Look look_;
};

}  // namespace memtape::cli
