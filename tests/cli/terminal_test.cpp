// SPDX-License-Identifier: Apache-2.0
#include "terminal.h"

#include <array>
#include <cstdio>
#include <string>

#include <gtest/gtest.h>

namespace memtape::cli {
namespace {

/// A temporary file that is read back as text.
class Stream {
 public:
  std::FILE* file() const { return file_; }
  std::string text() const {
    std::array<char, 1024> buffer{};
    std::rewind(file_);
    return {buffer.data(), std::fread(buffer.data(), 1, buffer.size(), file_)};
  }
  ~Stream() { std::fclose(file_); }

 private:
  std::FILE* file_ = std::tmpfile();
};

TEST(Terminal, TheAnswerAndTheErrorGoTheirOwnWays) {
  const Stream output, errors;
  Terminal terminal(output.file(), errors.file(), {});
  terminal.print("answer\n");
  EXPECT_EQ(terminal.fail({ErrorKind::bad_input, "is odd", "x", "be even"}), ExitCode::bad_input);
  EXPECT_EQ(output.text(), "answer\n");
  EXPECT_EQ(errors.text(), "memtape: x: is odd (be even)\n");
}

TEST(Terminal, EachKindOfErrorHasItsExitCode) {
  const Stream output, errors;
  Terminal terminal(output.file(), errors.file(), {});
  EXPECT_EQ(terminal.fail({ErrorKind::bad_input, "", "", ""}), 2);
  EXPECT_EQ(terminal.fail({ErrorKind::unsupported, "", "", ""}), 2);
  EXPECT_EQ(terminal.fail({ErrorKind::internal, "", "", ""}), 3);
}

TEST(Terminal, ANoteStaysOnOneLineWithoutEscapes) {
  const Stream output, errors;
  Terminal(output.file(), errors.file(), {}).note("a\nb\x1b[31mc");
  EXPECT_EQ(errors.text(), "memtape: a?b?[31mc\n");
}

TEST(Terminal, KnowsWhenItsOutputIsLost) {
  const Stream errors;
  std::FILE* full = std::fopen("/dev/full", "w");
  ASSERT_NE(full, nullptr);
  Terminal terminal(full, errors.file(), {});
  EXPECT_TRUE(terminal.flush());
  terminal.print("lost");
  EXPECT_FALSE(terminal.flush());
  std::fclose(full);
}

}  // namespace
}  // namespace memtape::cli
