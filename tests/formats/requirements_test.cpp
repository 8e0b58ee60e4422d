// SPDX-License-Identifier: Apache-2.0
#include "formats/requirements.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memtape {
namespace {

std::string error_of(std::string_view text, std::string_view file) {
  const auto read = read_requirements(text, file);
  return read ? "" : read.error().line();
}

TEST(Requirements, ReadsPipsFormat) {
  const auto read = read_requirements(
      "torch==2.8.0+cu128 ; python_version >= '3.9' \\\n    --hash=sha256:00\n"
      "# transformers==4.0\n-r more.txt\ntransformers[torch] === 4.57.6 # pinned\npeft>=0.17\n",
      "requirements.txt");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->releases.release.of(Package::torch), (Version{2, 8, 0}));
  EXPECT_EQ(read->releases.release.of(Package::transformers), (Version{4, 57, 6}));
  EXPECT_THAT(read->unpinned, testing::ElementsAre("peft>=0.17"));
}

TEST(Requirements, TakesAStarForARange) {
  const auto read = read_requirements("torch==2.8.*", "requirements.txt");
  ASSERT_TRUE(read);
  EXPECT_TRUE(read->releases.named.empty());
  EXPECT_THAT(read->unpinned, testing::SizeIs(1));
}

TEST(Requirements, ReadsLockFiles) {
  const auto read = read_requirements(
      "[[package]]\nname = \"torch\"\nversion = \"2.9.1\"\n[[package]]\nname = \"numpy\"\n",
      "a/poetry.lock");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->releases.release.of(Package::torch), (Version{2, 9, 1}));
}

TEST(Requirements, NamesTheLineOfWhatIsWrong) {
  EXPECT_EQ(error_of("torch==2.8.0\ntorch==2.9.0\n", "r.txt"),
            "r.txt:2: a second version of torch (a file that names one)");
  EXPECT_THAT(error_of("torch==latest", "r.txt"), testing::StartsWith("r.txt:1: "));
  EXPECT_THAT(error_of("[tool.x]\n", "pyproject.toml"),
              testing::StartsWith("pyproject.toml: neither [[package]] nor [project]"));
}

}  // namespace
}  // namespace memtape
