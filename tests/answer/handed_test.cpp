// SPDX-License-Identifier: Apache-2.0
// What a program without a disk is asked for: files that are named but not there, and more of those
// of which only the beginning is.
#include "answer/handed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memtape::answer {
namespace {

constexpr std::string_view kConfig = R"({"model_type": "llama"})";

HandedFile whole(std::string_view name, std::string_view text) {
  return {name, text, static_cast<Bytes>(text.size())};
}

TEST(Handed, WantsTheFileThatIsMissing) {
  const Handed handed({}, "", {}, {});
  EXPECT_FALSE(handed.text("ds.json", 100));
  EXPECT_FALSE(handed.model("my/model"));
  ASSERT_EQ(handed.wanted().size(), 2);
  EXPECT_EQ(handed.wanted()[0].name, "ds.json");
  EXPECT_EQ(handed.wanted()[0].bytes, 0) << "as a whole";
  EXPECT_EQ(handed.wanted()[1].name, "my/model/config.json");
}

TEST(Handed, WantsMoreOfABeginning) {
  const Handed handed({{"ds.json", "{\"ze", 20}}, "", {}, {});
  EXPECT_FALSE(handed.text("ds.json", 100));
  ASSERT_EQ(handed.wanted().size(), 1);
  EXPECT_EQ(handed.wanted()[0].bytes, 20);
}

TEST(Handed, WantsNoFileThatIsTooLarge) {
  const Handed handed({{"ds.json", "{", 101}}, "", {}, {});
  EXPECT_EQ(handed.text("ds.json", 100).error().line(), "ds.json: has 101 bytes (at most 100)");
  EXPECT_TRUE(handed.wanted().empty());
}

TEST(Handed, FindsAModelInAFolderOrInTheCatalog) {
  const Handed handed({whole("my/config.json", kConfig)}, "", {}, {});
  EXPECT_TRUE(handed.model("my")->config);
  EXPECT_EQ(handed.model("meta-llama/Llama-3.1-8B")->where, "catalog");
  EXPECT_TRUE(handed.wanted().empty());
}

TEST(Handed, PrefersTheConfigurationOfTheRequest) {
  const Handed handed({}, std::string(kConfig), {}, {});
  const Result<ModelSource> model = handed.model("meta-llama/Llama-3.1-8B");
  ASSERT_TRUE(model);
  EXPECT_EQ(model->config->text("model_type"), "llama");
  EXPECT_EQ(model->where, "the request");
}

TEST(Handed, HasNoMachineBehindIt) {
  const Handed handed({}, "", {{"CUDA_VISIBLE_DEVICES", "0"}}, {});
  EXPECT_EQ(handed.variable("CUDA_VISIBLE_DEVICES"), "0");
  EXPECT_FALSE(handed.variable("HOME"));
  EXPECT_TRUE(handed.installed(""));
  EXPECT_FALSE(handed.installed("/usr/bin/python3"));
  EXPECT_FALSE(handed.recorded({}));
}

}  // namespace
}  // namespace memtape::answer
