// SPDX-License-Identifier: Apache-2.0
#include "terminal.h"

#include <charconv>
#include <cstdlib>
#include <optional>
#include <string>

#include <sys/ioctl.h>
#include <unistd.h>

namespace memtape::cli {
namespace {

constexpr int kNarrowest = 20;
constexpr int kWidest = 1000;

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// Nothing where nobody says how wide it is.
std::optional<int> width_of_terminal() {
  const std::string_view columns = environment("COLUMNS");
  int width = 0;
  std::from_chars(columns.data(), columns.data() + columns.size(), width);
  if (width >= kNarrowest && width <= kWidest) return width;
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= kNarrowest) return size.ws_col;
  return std::nullopt;
}

bool wants_colour() {
  return isatty(STDOUT_FILENO) != 0 && environment("NO_COLOR").empty() &&
         environment("TERM") != "dumb";
}

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

}  // namespace

Terminal Terminal::of_process() {
  Look look{.colour = wants_colour()};
  if (const std::optional<int> width = width_of_terminal()) {
    look.width = *width;
    look.folds = true;
  }
  return {stdout, stderr, look};
}

void Terminal::note(std::string_view text) {
  std::string line = "memtape: ";
  for (const char c : text) line += is_control(c) ? '?' : c;
  line += '\n';
  std::fflush(output_);
  std::fwrite(line.data(), 1, line.size(), errors_);
  std::fflush(errors_);
}

bool Terminal::shows_progress() const { return isatty(fileno(errors_)) != 0; }

void Terminal::progress(std::string_view text) {
  if (!shows_progress()) return;
  const std::string line = "\r\033[K" + std::string(text);
  std::fwrite(line.data(), 1, line.size(), errors_);
  std::fflush(errors_);
}

int Terminal::fail(const Error& error) {
  note(error.line());
  return error.kind == ErrorKind::internal ? ExitCode::internal_error : ExitCode::bad_input;
}

bool Terminal::flush() { return std::fflush(output_) == 0 && std::ferror(output_) == 0; }

}  // namespace memtape::cli
