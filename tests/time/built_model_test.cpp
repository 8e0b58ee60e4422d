// SPDX-License-Identifier: Apache-2.0
// What a model's modules say of its sizes, whatever its configuration leaves out.
#include "time/built_model.h"

#include <gtest/gtest.h>

#include "model/catalog.h"
#include "time/model_shape.h"

namespace memtape::time {
namespace {

Config config_of(std::string_view model) {
  const CatalogEntry* entry = find_model(model);
  return *Config::parse(entry->config, std::string(entry->id));
}

/// Families that are tied unless told otherwise, in configurations that say nothing.
TEST(BuiltModel, CountsATiedHeadOnce) {
  for (const char* name :
       {"google/gemma-2-2b", "tiiuae/falcon-7b", "bigscience/bloom-560m", "openai-community/gpt2",
        "facebook/opt-1.3b", "bigcode/starcoder2-3b", "mosaicml/mpt-7b", "CohereLabs/aya-23-8B"}) {
    const BuiltModel built = *built_model(config_of(name));
    EXPECT_FALSE(built.has_own_head) << name;
    EXPECT_EQ(built.parameters, find_model(name)->parameters) << name;
  }
  EXPECT_TRUE(built_model(config_of("meta-llama/Llama-3.1-8B"))->has_own_head);
}

TEST(BuiltModel, HasNoHeadForTokensWhereItClassifies) {
  const Config llama = config_of("meta-llama/Llama-3.1-8B");
  const auto built = built_model(llama, family::Task::sequence_classification, {});
  EXPECT_FALSE(built->has_own_head);
}

/// Gemma 3's vision tower has layers, too.
TEST(BuiltModel, KeepsStacksApart) {
  const BuiltModel built = *built_model(config_of("google/gemma-3-4b-it"));
  EXPECT_NE(built.stack_of(34), nullptr);
  EXPECT_NE(built.stack_of(27), nullptr);
  EXPECT_EQ(built.stack_of(5), nullptr);
}

TEST(BuiltModel, LeavesNoRecordOfWhatWasMissing) {
  const Config config = *Config::parse(R"({"model_type": "llama", "hidden_size": "x"})", "c");
  EXPECT_FALSE(built_model(config));
  EXPECT_TRUE(config.check());
}

TEST(BuiltModel, TellsTheShapeWhichFeedForwardsHaveGates) {
  EXPECT_FALSE(model_shape(config_of("openai-community/gpt2"))->layers.front().mlp.gated);
  EXPECT_FALSE(model_shape(config_of("microsoft/phi-2"))->layers.front().mlp.gated);
  EXPECT_TRUE(model_shape(config_of("google/gemma-2-2b"))->layers.front().mlp.gated);
}

}  // namespace
}  // namespace memtape::time
