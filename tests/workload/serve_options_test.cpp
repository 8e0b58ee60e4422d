// SPDX-License-Identifier: Apache-2.0
// Values of an engine's flags: the last one counts, and an error names the flag.
#include "workload/serve_options.h"

#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memtape {
namespace {

ServeOptions options() {
  ServeOptions made;
  made.add("max-model-len", "8k");
  made.add("lora", "a");
  made.add("lora", "b");
  made.add("kv-cache-memory-bytes", "2GiB");
  made.add("share", "0.9x");
  return made;
}

TEST(ServeOptions, ReadSizesAndCountsByTheFlag) {
  EXPECT_EQ(*options().integer("max-model-len", 0), 8192) << "tokens";
  EXPECT_EQ(*options().integer("kv-cache-memory-bytes", 0), std::int64_t{2} << 30);
  EXPECT_EQ(*options().integer("not-given", 7), 7);
}

TEST(ServeOptions, KeepEveryValueAndCountTheLast) {
  EXPECT_EQ(*options().find("lora"), "b");
  EXPECT_THAT(options().all("lora"), testing::ElementsAre("a", "b"));
  EXPECT_EQ(options().find("not-given"), nullptr);
}

TEST(ServeOptions, NameTheFlagOfAWrongValue) {
  EXPECT_THAT(options().number("share", 0).error().line(),
              testing::AllOf(testing::HasSubstr("--share"), testing::HasSubstr("0.9x")));
  EXPECT_THAT(options().integer("max-model-len", 0, {.most = 100}).error().line(),
              testing::HasSubstr("--max-model-len"));
  constexpr std::array<std::string_view, 2> kChoices{"a", "c"};
  EXPECT_FALSE(options().choice("lora", kChoices, "a"));
  EXPECT_EQ(*options().choice("not-given", kChoices, "c"), 1);
}

}  // namespace
}  // namespace memtape
