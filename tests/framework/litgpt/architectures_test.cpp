// SPDX-License-Identifier: Apache-2.0
// What litgpt's list (0.5.13, config.py) says of models, read from the config.json that the hub has
// of them.
#include "framework/litgpt/architectures.h"

#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "framework/litgpt/chunked_cross_entropy.h"

namespace memtape::litgpt {
namespace {

Result<GptConfig> read(const std::string& members) {
  return read_gpt_config(*Config::parse("{\"vocab_size\": 1000, " + members + "}", "config.json"));
}

std::string error_of(const std::string& members) {
  const Result<GptConfig> config = read(members);
  return config ? "(no error)" : config.error().line();
}

TEST(GptConfig, RotatesTheShareThatTheListNames) {
  const GptConfig phi = *read(R"("model_type": "phi", "hidden_size": 2560, "num_hidden_layers": 32,
    "num_attention_heads": 32, "intermediate_size": 10240, "partial_rotary_factor": 0.4)");
  EXPECT_EQ(phi.head_size, 80);
  EXPECT_EQ(phi.rope_n_elem, 32) << "phi-2: rotary_percentage=0.4";
  EXPECT_TRUE(phi.parallel_residual && phi.shared_attention_norm && phi.lm_head_bias);
  const GptConfig pythia = *read(R"("model_type": "gpt_neox", "hidden_size": 2048,
    "num_hidden_layers": 16, "num_attention_heads": 8, "rotary_pct": 0.25)");
  EXPECT_EQ(pythia.rope_n_elem, 64) << "a quarter of 256";
  EXPECT_EQ(pythia.intermediate_size, 4 * 2048);
  EXPECT_TRUE(pythia.parallel_residual && pythia.bias);
}

TEST(GptConfig, GroupsTheKeysOfFalcons) {
  const GptConfig small = *read(R"("model_type": "falcon", "hidden_size": 4544,
    "num_hidden_layers": 32, "num_attention_heads": 71, "multi_query": true)");
  EXPECT_EQ(small.n_query_groups, 1) << "falcon-7b";
  EXPECT_TRUE(small.shared_attention_norm);
  const GptConfig large = *read(R"("model_type": "falcon", "hidden_size": 8192,
    "num_hidden_layers": 60, "num_attention_heads": 128, "num_kv_heads": 8,
    "new_decoder_architecture": true)");
  EXPECT_EQ(large.n_query_groups, 8) << "falcon-40b";
  EXPECT_FALSE(large.shared_attention_norm);
}

TEST(GptConfig, HoldsMistralToItsWindow) {
  const std::string model = R"("model_type": "mistral", "hidden_size": 64, "num_hidden_layers": 3,
    "num_attention_heads": 4, "max_position_embeddings": 32768)";
  EXPECT_EQ(read(model)->block_size, 32768);
  EXPECT_TRUE(read(model)->slides.empty());
  EXPECT_EQ(read(model + ", \"sliding_window\": 4096")->block_size, 4096);
  EXPECT_THAT(read(model + ", \"sliding_window\": 4096")->slides,
              testing::ElementsAre(true, true, true));
}

TEST(GptConfig, SlidesInEverySecondLayerOfGemma2) {
  const GptConfig gemma = *read(R"("model_type": "gemma2", "hidden_size": 64,
    "num_hidden_layers": 4, "num_attention_heads": 4, "head_dim": 32)");
  EXPECT_THAT(gemma.slides, testing::ElementsAre(true, false, true, false));
  EXPECT_EQ(gemma.query_size(), 128) << "heads may be larger than n_embd / n_head";
  EXPECT_TRUE(gemma.attention_softcaps && gemma.final_softcaps && gemma.norm_adds_one);
}

TEST(GptConfig, RefusesWhatLitgptLacks) {
  EXPECT_EQ(error_of(R"("model_type": "lama")"),
            "config.json: model_type: \"lama\" is not modelled by --framework litgpt (did you mean "
            "llama?)");
  EXPECT_THAT(error_of(R"("model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 3)"),
              testing::HasSubstr("num_key_value_heads"));
}

/// torch.split(128)
TEST(ChunkSizes, AddUpInChunksOf128) {
  EXPECT_THAT(chunk_sizes(300), testing::ElementsAre(128, 128, 44));
  EXPECT_THAT(chunk_sizes(128), testing::ElementsAre(128));
  for (std::int64_t total = 0; total < 1000; ++total) {
    const std::vector<std::int64_t> sizes = chunk_sizes(total);
    EXPECT_EQ(std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}), total);
    EXPECT_EQ(static_cast<std::int64_t>(sizes.size()), (total + 127) / 128);
  }
}

}  // namespace
}  // namespace memtape::litgpt
