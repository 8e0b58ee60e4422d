// SPDX-License-Identifier: Apache-2.0
// A ds_config: its defaults, "auto" as HF Trainer fills it in, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "framework/deepspeed/ds_config.h"
#include "workload/train_recipe.h"

namespace memtape::deepspeed {
namespace {

using testing::HasSubstr;

Config model() {
  return *Config::parse(R"({"model_type": "llama", "hidden_size": 2048})", "config.json");
}

Result<TrainRecipe> recipe_of(std::string_view strategy) {
  TrainRecipe recipe;
  recipe.weights = DType::bfloat16;
  recipe.precision = Precision::bf16;
  recipe.layout.gpus = 4;
  return read_strategy(strategy, recipe).map([&] { return recipe; });
}

Result<DsConfig> config_of(std::string_view strategy) {
  return recipe_of(strategy).and_then([](const TrainRecipe& recipe) {
    return ds_config_of(recipe.own.of<DsOptions>(), model(), recipe);
  });
}

DsConfig read(std::string_view strategy) {
  const Result<DsConfig> config = config_of(strategy);
  EXPECT_TRUE(config.has_value()) << (config ? "" : config.error().line());
  return config.value_or(DsConfig{});
}

std::string refusal(std::string_view strategy) {
  const Result<DsConfig> config = config_of(strategy);
  EXPECT_FALSE(config.has_value());
  return config ? "" : config.error().line();
}

TEST(DsConfig, HasTheDefaultsOfDeepSpeed) {
  const DsConfig config = read(R"({"bf16": {"enabled": true}, "zero_optimization": {"stage": 2}})");
  EXPECT_EQ(config.zero.reduce_bucket_size, 500'000'000);
  EXPECT_FALSE(config.zero.overlap_comm);
  EXPECT_TRUE(config.zero.contiguous_gradients);
  EXPECT_EQ(config.gradient_clipping, 1.0);
  EXPECT_EQ(config.grad_accum_dtype, DType::bfloat16);
  EXPECT_TRUE(config.check_grad_overflow);
}

TEST(DsConfig, OverlapsInStage3UnlessToldOtherwise) {
  EXPECT_TRUE(
      read(R"({"bf16": {"enabled": true}, "zero_optimization": {"stage": 3}})").zero.overlap_comm);
  EXPECT_FALSE(read(R"({"bf16": {"enabled": true},
                        "zero_optimization": {"stage": 3, "overlap_comm": false}})")
                   .zero.overlap_comm);
}

TEST(DsConfig, FillsAutoInAsTrainerDoes) {
  const DsConfig config = read(R"({"bf16": {"enabled": "auto"}, "gradient_clipping": "auto",
    "train_batch_size": "auto", "zero_optimization": {"stage": 3, "reduce_bucket_size": "auto",
    "stage3_prefetch_bucket_size": "auto", "stage3_param_persistence_threshold": "auto"}})");
  EXPECT_EQ(config.model_dtype, DType::bfloat16);
  EXPECT_EQ(config.zero.reduce_bucket_size, 2048 * 2048);
  EXPECT_EQ(config.zero.prefetch_bucket_size, 3774873);
  EXPECT_EQ(config.zero.param_persistence_threshold, 20480);
}

TEST(DsConfig, TakesTheBatchItNames) {
  const TrainRecipe recipe = resolved(*recipe_of(
      R"({"train_micro_batch_size_per_gpu": 2, "train_batch_size": 24, "packed_sequences": false})"));
  EXPECT_EQ(recipe.micro_batch_size, 2);
  EXPECT_EQ(recipe.gradient_accumulation, 3);
}

TEST(DsConfig, RefusesWhatDeepSpeedRefuses) {
  EXPECT_THAT(refusal(R"({"bf16": {"enabled": true}, "fp16": {"enabled": true}})"),
              HasSubstr("both enabled"));
  EXPECT_THAT(refusal(R"({"zero_optimization": {"stage": 1}})"), HasSubstr("float32 weights"));
  EXPECT_THAT(refusal(R"({"bf16": {"enabled": true}, "zero_optimization": {"stage": 4}})"),
              HasSubstr("no such ZeRO stage"));
  EXPECT_THAT(refusal(R"({"bf16": {"enabled": true}, "train_batch_size": 3})"),
              HasSubstr("train_batch_size"));
}

TEST(DsConfig, NamesTheNearestKey) {
  EXPECT_THAT(refusal(R"({"bf16": {"enabled": true}, "zero_optimisation": {}})"),
              HasSubstr("did you mean zero_optimization?"));
  EXPECT_THAT(refusal(R"({"bf16": {"enabled": true}, "zero_optimization": {"stage": 2,
                          "reduce_bucket_sice": 5}})"),
              HasSubstr("did you mean reduce_bucket_size?"));
}

}  // namespace
}  // namespace memtape::deepspeed
