// SPDX-License-Identifier: Apache-2.0
// litgpt's finetuning of TinyLlama: counts of parameters that its documents name, and what is
// refused.
#include "framework/litgpt/finetune.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memtape::litgpt {
namespace {

constexpr std::string_view kTinyLlama = R"({"model_type": "llama", "vocab_size": 32000,
  "hidden_size": 2048, "intermediate_size": 5632, "num_hidden_layers": 22,
  "num_attention_heads": 32, "num_key_value_heads": 4, "max_position_embeddings": 2048})";
constexpr std::int64_t kParameters = 1'100'048'384;  ///< "TinyLlama 1.1B"

TrainRecipe recipe() {
  TrainRecipe made;
  made.sequence_length = 32;
  return made;
}

TrainRecipe with_lora(std::vector<std::string> targets) {
  TrainRecipe made = recipe();
  made.lora.emplace();
  made.lora->rank = 8;
  made.lora->targets = std::move(targets);
  return made;
}

Result<torch::TrainRun> run(const TrainRecipe& recipe) {
  return run_training(TrainPlan(recipe), *Config::parse(kTinyLlama, "config.json"),
                      ghost::DeviceTraits{}, 0);
}

std::string error_of(const TrainRecipe& recipe) {
  const Result<torch::TrainRun> trained = run(recipe);
  return trained ? "(no error)" : trained.error().line();
}

TEST(Finetune, TrainsAllWeights) {
  const Result<torch::TrainRun> full = run(recipe());
  ASSERT_TRUE(full) << full.error().line();
  EXPECT_EQ(full->statics.parameters, kParameters);
  EXPECT_EQ(full->statics.trainable_parameters, kParameters);
  EXPECT_EQ(full->statics.parameter_bytes, 2 * kParameters);
}

/// lora.py, LoRAQKVLinear: A is [2 r, n_embd] for queries and values, B is [2048 + 256, r].
TEST(Finetune, AdaptsQueriesAndValuesByDefault) {
  const TrainRecipe settled = resolved(with_lora({}));
  EXPECT_THAT(settled.lora->targets, testing::ElementsAre("query", "value"));
  const Result<torch::TrainRun> lora = run(settled);
  ASSERT_TRUE(lora) << lora.error().line();
  const std::int64_t adapters = 22 * (16 * 2048 + (2048 + 256) * 8);
  EXPECT_EQ(lora->statics.trainable_parameters, adapters);
  EXPECT_EQ(lora->statics.parameters, kParameters + adapters);
}

TEST(Finetune, ClipsNothing) {
  TrainRecipe clipping = recipe();
  clipping.max_grad_norm = 1.0;
  EXPECT_FALSE(resolved(clipping).max_grad_norm);
}

TEST(Finetune, NamesWhatItRefuses) {
  EXPECT_THAT(error_of(with_lora({"q_proj"})),
              testing::StartsWith("--lora-targets: \"q_proj\" is no part that litgpt adapts"));
  TrainRecipe too_long = recipe();
  too_long.sequence_length = 2049;
  EXPECT_EQ(error_of(too_long),
            "--sequence-length: more tokens than the model's block_size (at most 2048)");
  TrainRecipe checkpointed = recipe();
  checkpointed.checkpointing = Checkpointing::full;
  EXPECT_THAT(error_of(checkpointed), testing::StartsWith("--gradient-checkpointing: "));
}

}  // namespace
}  // namespace memtape::litgpt
