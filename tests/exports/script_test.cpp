// SPDX-License-Identifier: Apache-2.0
// A start script is read back by src/launch as it was written, whatever its words hold.
#include "exports/script.h"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/shell.h"

namespace memtape::exports {
namespace {

using testing::ElementsAre;

/// The words of the last command, which starts the program.
std::vector<std::string> started(std::string text) { return shell_commands(text).back(); }

TEST(Script, WritesAFlagALine) {
  Script script("tp 8");
  script.set_variable("A", "x:y");
  script.start("torchrun");
  script.flag("--nproc-per-node", "8");
  script.flag("--bf16");
  script.word_filled("$HERE/train.py");
  EXPECT_EQ(std::move(script).text(),
            "#!/usr/bin/env bash\n# tp 8\nset -e\nHERE=\"$(dirname \"$0\")\"\n"
            "export A=x:y\n\ntorchrun \\\n  --nproc-per-node 8 \\\n  --bf16 \\\n"
            "  \"$HERE/train.py\" \\\n  \"$@\"\n");
}

TEST(Script, IsReadBackWordForWord) {
  std::mt19937 random(3);
  const std::string letters = "a b'\"$\\`{}[]:;&|<>*?!#~\t";
  for (int trial = 0; trial < 300; ++trial) {
    std::string value;
    for (std::size_t i = 0, size = random() % 8; i < size; ++i)
      value += letters[random() % letters.size()];
    Script script("any");
    script.start("program");
    script.flag("--value", value);
    script.word(value);
    EXPECT_THAT(started(std::move(script).text()),
                ElementsAre("program", "--value", value, value, "$@"))
        << "value <" << value << ">";
  }
}

TEST(Script, LeavesVariablesToTheShell) {
  Script script("any");
  script.start("program");
  script.flag_filled("--strategy", "$HERE/strategy.json");
  script.flag("--price", "$HERE");
  EXPECT_THAT(std::move(script).text(),
              testing::AllOf(testing::HasSubstr("--strategy \"$HERE/strategy.json\""),
                             testing::HasSubstr("--price '$HERE'")));
}

}  // namespace
}  // namespace memtape::exports
