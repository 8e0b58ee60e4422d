// SPDX-License-Identifier: Apache-2.0
// Settings that become options and members by rows.
#include "launch/setting_rows.h"

#include <array>

#include <gtest/gtest.h>

namespace memtape::launch {
namespace {

Settings settings_of(std::string_view yaml) { return *read_settings(yaml, "cfg.yaml"); }

TEST(SettingRows, MakeOptionsOfWhatIsSaid) {
  constexpr auto kRows =
      std::to_array<SettingRow>({{"batch_size", "micro-batch-size", RowKind::whole, "8"},
                                 {"seq_len", "sequence-length"},
                                 {"clip", "max-grad-norm", RowKind::number},
                                 {"name", "optimizer", RowKind::text}});
  Settings settings = settings_of("seq_len: 2048\nclip: 0.5\n");
  Translation translation;
  add_options(kRows, settings, translation);
  using Options = decltype(translation.options);
  EXPECT_EQ(
      translation.options,
      (Options{{"micro-batch-size", "8"}, {"sequence-length", "2048"}, {"max-grad-norm", "0.5"}}));
  EXPECT_FALSE(settings.failure());
}

TEST(SettingRows, MakeMembersOfAnObject) {
  constexpr auto kRows = std::to_array<SettingRow>({{"a", "schedule", RowKind::text},
                                                    {"b", "stages"},
                                                    {"c", "offload", RowKind::on_alone},
                                                    {"d", "early_stop", RowKind::truth},
                                                    {"e", "compile", RowKind::on_alone}});
  Settings settings = settings_of("a: 1F1B\nb: 4\nc: false\nd: no\ne: true\n");
  JsonObject object;
  add_members(kRows, settings, object);
  EXPECT_EQ(object.text(),
            R"({"schedule": "1F1B", "stages": 4, "early_stop": false, "compile": true})");
}

TEST(SettingRows, KeepTheFirstValueThatWillNotDo) {
  constexpr auto kRows = std::to_array<SettingRow>({{"batch_size", "micro-batch-size"}});
  Settings settings = settings_of("batch_size: many\n");
  Translation translation;
  add_options(kRows, settings, translation);
  ASSERT_TRUE(settings.failure());
  EXPECT_EQ(settings.failure()->where, "cfg.yaml:1: batch_size");
}

TEST(SettingRows, TranslateWords) {
  constexpr auto kWords = std::to_array<Word>({{"float16", "fp16"}, {"float32", "fp32"}});
  Settings settings = settings_of("dtype: float32\nother: float8\n");
  EXPECT_EQ(in_our_words("dtype", kWords, settings), "fp32");
  EXPECT_EQ(in_our_words("unsaid", kWords, settings), std::nullopt);
  EXPECT_FALSE(settings.failure());
  EXPECT_EQ(in_our_words("other", kWords, settings), std::nullopt);
  EXPECT_TRUE(settings.failure());
}

TEST(SettingRows, NameTorchsOptimizers) {
  EXPECT_EQ(torch_optimizer("AdamW"), "adamw");
  EXPECT_EQ(torch_optimizer("LBFGS"), "");
}

}  // namespace
}  // namespace memtape::launch
