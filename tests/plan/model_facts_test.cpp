// SPDX-License-Identifier: Apache-2.0
// The sizes that plans divide.
#include "plan/model_facts.h"

#include <gtest/gtest.h>

#include "model/catalog.h"

namespace memtape::plan {
namespace {

ModelFacts facts_of(std::string_view model) {
  const CatalogEntry* entry = find_model(model);
  const Config config = *Config::parse(entry->config, std::string(entry->id));
  return model_facts(*time::model_shape(config), *time::built_model(config));
}

TEST(ModelFacts, AreThoseOfADenseModel) {
  const ModelFacts llama = facts_of("meta-llama/Llama-3.1-8B");
  EXPECT_EQ(llama.parameters, 8'030'261'248);
  EXPECT_EQ(llama.layers, 32);
  EXPECT_EQ(llama.heads, 32);
  EXPECT_EQ(llama.kv_heads, 8);
  EXPECT_EQ(llama.experts, 0);
  EXPECT_EQ(llama.shared_parameters(), llama.parameters);
}

/// A head that is the embedding lies on a GPU once.
TEST(ModelFacts, CountATiedHeadOnce) {
  EXPECT_EQ(facts_of("google/gemma-2-27b").parameters, 27'227'128'320);
}

TEST(ModelFacts, TellExpertsFromTheRest) {
  const ModelFacts deepseek = facts_of("deepseek-ai/DeepSeek-V2-Lite");
  EXPECT_EQ(deepseek.experts, 64);
  EXPECT_EQ(deepseek.expert_layers, 26);
  EXPECT_EQ(deepseek.expert_ffn, 1408);
  const double share =
      static_cast<double>(deepseek.expert_parameters()) / static_cast<double>(deepseek.parameters);
  EXPECT_GT(share, 0.9);
  EXPECT_LT(share, 1.0);
}

/// Every second layer of Maverick's is a mixture.
TEST(ModelFacts, CountTheLayersThatHaveExperts) {
  const ModelFacts maverick = facts_of("meta-llama/Llama-4-Maverick-17B-128E-Instruct");
  EXPECT_EQ(maverick.layers, 48);
  EXPECT_EQ(maverick.expert_layers, 24);
}

}  // namespace
}  // namespace memtape::plan
