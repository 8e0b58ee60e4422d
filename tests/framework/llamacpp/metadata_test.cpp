// SPDX-License-Identifier: Apache-2.0
// A GGUF file's keys, as gguf-dump --json prints them.
#include "framework/llamacpp/metadata.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memtape::llamacpp {
namespace {

using testing::ElementsAre;

Metadata metadata() {
  return *Metadata::parse(*Config::parse(R"({"tensor_count": 292, "metadata": {
    "general.architecture": {"index": 1, "type": "STRING", "value": "llama"},
    "llama.block_count": 3, "llama.embedding_length": 0, "llama.rope.freq_base": 500000.0,
    "llama.use_parallel_residual": false,
    "llama.attention.head_count_kv": {"type": "ARRAY", "value": [8, 4, 2]},
    "llama.feed_forward_length": 14336, "llama.short": [1, 2]}})",
                                         "model.json"));
}

TEST(Metadata, ReadsPlainValuesAndDumps) {
  const Metadata read = metadata();
  EXPECT_EQ(read.text("general.architecture"), "llama");
  EXPECT_EQ(read.integer("llama.block_count"), 3);
  EXPECT_EQ(read.integer("tensor_count"), 292);
  EXPECT_EQ(read.text("llama.block_count"), "") << "a number is no text";
  EXPECT_EQ(read.find("llama.vocab_size"), nullptr);
}

TEST(KeyReader, SpreadsOneValueOverAllLayers) {
  const Metadata read = metadata();
  KeyReader keys(read, "llama");
  EXPECT_THAT(keys.per_layer("feed_forward_length", 3, 0), ElementsAre(14336, 14336, 14336));
  EXPECT_THAT(keys.per_layer("attention.head_count_kv", 3, 0), ElementsAre(8, 4, 2));
  EXPECT_THAT(keys.per_layer("expert_count", 2, 7), ElementsAre(7, 7));
  EXPECT_FALSE(keys.flag("use_parallel_residual", true));
  EXPECT_TRUE(keys.check());
}

TEST(KeyReader, TellsTheFirstKeyThatIsWrong) {
  const Metadata read = metadata();
  KeyReader keys(read, "llama");
  EXPECT_EQ(keys.dimension("embedding_length"), 1) << "harmless, so that reading can go on";
  EXPECT_EQ(keys.dimension("vocab_size"), 1);
  EXPECT_EQ(keys.per_layer("short", 3, 0).size(), 3);
  ASSERT_FALSE(keys.check());
  EXPECT_EQ(keys.check().error().line(),
            "model.json: llama.embedding_length: must be an integer of 1 or more, found 0");
}

}  // namespace
}  // namespace memtape::llamacpp
