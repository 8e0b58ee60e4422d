// SPDX-License-Identifier: Apache-2.0
#include "release/requirement_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memtape {
namespace {

TEST(RequirementList, NamesReleases) {
  const auto named = parse_requirement_list("torch==2.8.0+cu128, Transformers==4.57.6", "--with");
  ASSERT_TRUE(named);
  EXPECT_EQ(named->release.of(Package::torch), (Version{2, 8, 0}));
  EXPECT_EQ(named->release.of(Package::transformers), (Version{4, 57, 6}));
  EXPECT_EQ(named->release.of(Package::peft), facts_of(Package::peft).newest);
  EXPECT_THAT(named->named, testing::ElementsAre(Package::torch, Package::transformers));
}

TEST(RequirementList, TakesHyphensAndUnderscoresAlike) {
  const auto named = parse_requirement_list("liger_kernel==0.6.1,megatron-core==0.15", "--with");
  ASSERT_TRUE(named);
  EXPECT_EQ(named->release.of(Package::liger_kernel), (Version{0, 6, 1}));
}

TEST(RequirementList, SaysWhichPackagesChangeNothing) {
  const auto named =
      parse_requirement_list("tokenizers==0.21,torchao==0.13,torch==2.8.0", "--with");
  ASSERT_TRUE(named);
  EXPECT_THAT(named->ignored, testing::ElementsAre("tokenizers", "torchao"));
}

TEST(RequirementList, RefusesInOneLine) {
  const auto line = [](const char* list) {
    return parse_requirement_list(list, "--with").error().line();
  };
  EXPECT_THAT(line("torch"), testing::HasSubstr("\"torch\" names no release"));
  EXPECT_THAT(line("torch==new"), testing::HasSubstr("\"new\" is no version of torch"));
  EXPECT_THAT(line("transfomers==5.0"), testing::HasSubstr("did you mean transformers?"));
  EXPECT_THAT(line("torch==2.8,torch==2.9"), testing::HasSubstr("two versions of torch"));
}

TEST(Release, HasWhatCameBeforeIt) {
  constexpr Change kChange{Package::torch, {2, 9, 0}, "something changed", "somewhere"};
  Release release;
  EXPECT_TRUE(release.has(kChange));
  release.set(Package::torch, {2, 8, 1});
  EXPECT_FALSE(release.has(kChange));
}

}  // namespace
}  // namespace memtape
