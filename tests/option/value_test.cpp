// SPDX-License-Identifier: Apache-2.0
#include "option/value.h"

#include <gmock/gmock.h>

namespace memtape::option {
namespace {

constexpr auto kNoneOrFull = std::to_array<std::string_view>({"none", "full"});
enum class Checkpointing { none, full };

struct Part {
  std::int64_t size = 0;
};
struct Plan {
  std::int64_t batch = 1;
  std::optional<double> clip = 1.0;
  bool compile = false;
  Checkpointing checkpointing = Checkpointing::none;
  std::vector<std::string> freeze;
  std::optional<Part> part;
};

std::string unusable(const Option& option, std::string_view text) {
  const Result<Value> value = read(option, text);
  return value ? "(read)" : value.error().line();
}

template <auto... path>
Plan plan_of(const Option& option, std::string_view text) {
  Plan plan;
  const Result<Value> value = read(option, text);
  EXPECT_TRUE(put<path...>({option, text, *value}, plan));
  return plan;
}

TEST(Whole, IsTypedInItsUnit) {
  const Option tokens{"--length", "N", "", "", Whole{.unit = Unit::tokens}};
  EXPECT_EQ(std::get<std::int64_t>(*read(tokens, "8k")), 8192);
  const Option bytes{"--memory", "N", "", "", Whole{.most = 1LL << 60, .unit = Unit::bytes}};
  EXPECT_EQ(std::get<std::int64_t>(*read(bytes, "24GiB")), 24LL << 30);
}

TEST(Whole, SaysWhatItsBoundsAre) {
  const Option count{"--gpus", "N", "", "", Whole{}};
  EXPECT_EQ(unusable(count, "none"),
            "--gpus: unusable value \"none\" (a whole number of 1 or more)");
  EXPECT_EQ(unusable(count, "99999999999999999999"),
            "--gpus: unusable value \"99999999999999999999\" (at most 2147483647)");
  const Option stage{"--zero", "N", "", "", Whole{0, 3}};
  EXPECT_EQ(unusable(stage, "4"), "--zero: unusable value \"4\" (a whole number from 0 to 3)");
}

TEST(Real, MayHaveAWordInItsPlace) {
  const Option clip = Option{"--max-grad-norm", "{X,none}", "", "", Real{}}.or_word("none");
  EXPECT_TRUE(std::holds_alternative<std::monostate>(*read(clip, "none")));
  EXPECT_EQ(unusable(clip, "-1"),
            "--max-grad-norm: unusable value \"-1\" (a number of 0 or more, or none)");
  EXPECT_FALSE((plan_of<&Plan::clip>(clip, "none").clip));
}

TEST(OnOff, IsOnWithoutAValue) {
  const Option compile{"--compile", "", "", "", OnOff{}};
  EXPECT_TRUE((plan_of<&Plan::compile>(compile, "").compile));
  EXPECT_FALSE((plan_of<&Plan::compile>(compile, "False").compile));
  EXPECT_EQ(unusable(compile, "maybe"), "--compile: unusable value \"maybe\" (true or false)");
}

TEST(Choice, IsTheEnumerationInOrder) {
  const Option option{"--checkpointing", "{none,full}", "", "", Choice{kNoneOrFull}};
  EXPECT_EQ((plan_of<&Plan::checkpointing>(option, "full").checkpointing), Checkpointing::full);
  EXPECT_EQ(unusable(option, "ful"),
            "--checkpointing: unusable value \"ful\" (did you mean full?)");
}

TEST(Put, MakesPartsAndAddsToLists) {
  const Option size{"--size", "N", "", "", Whole{}};
  EXPECT_EQ((plan_of<&Plan::part, &Part::size>(size, "3").part->size), 3);
  const Option glob{"--freeze", "GLOB"};
  EXPECT_THAT((plan_of<&Plan::freeze>(glob, "*.bias").freeze), testing::ElementsAre("*.bias"));
}

}  // namespace
}  // namespace memtape::option
