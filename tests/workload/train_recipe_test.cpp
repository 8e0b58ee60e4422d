// SPDX-License-Identifier: Apache-2.0
// Options of a training become a recipe, read for a framework that takes everything.
#include "workload/read_recipe.h"

#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "allocator/allocator_of_release.h"

namespace memtape {
namespace {

constexpr Framework kAny{.name = "any", .summary = "takes all"};
constexpr Framework kOneGpu{
    .name = "one-gpu", .summary = "takes no layout", .takes = {.several_gpus = false}};
constexpr std::array kAll{&kAny, &kOneGpu};

Result<TrainRecipe> read(const NamedValues& options) { return train_recipe(options, kAll); }

std::string error_of(const NamedValues& options) {
  const Result<TrainRecipe> recipe = read(options);
  return recipe ? "(no error)" : recipe.error().line();
}

TEST(TrainRecipe, IsThePlainLoopsWhereNothingIsSaid) {
  const Result<TrainRecipe> recipe = read({});
  ASSERT_TRUE(recipe) << recipe.error().line();
  EXPECT_EQ(recipe->framework, &kAny);
  EXPECT_EQ(recipe->parameter_dtype(), DType::bfloat16);
  EXPECT_FALSE(recipe->names_sequence_length || recipe->lora || recipe->autocasts());
}

TEST(TrainRecipe, HoldsParametersInFloatsUnderAutocast) {
  const Result<TrainRecipe> recipe = read({{"precision", "amp-bf16"}});
  ASSERT_TRUE(recipe) << recipe.error().line();
  EXPECT_TRUE(recipe->autocasts());
  EXPECT_EQ(recipe->parameter_dtype(), DType::float32);
  EXPECT_EQ(recipe->autocast_dtype(), DType::bfloat16);
}

TEST(Frameworks, RefuseWhatTheyDoNotModel) {
  const auto refusal = [](const NamedValues& options) {
    const Result<void> fine = check_modelled(options, kOneGpu);
    return fine ? "(no error)" : fine.error().line();
  };
  EXPECT_EQ(refusal({{"gpus", "2"}}),
            "--gpus: one-gpu is modelled on one GPU (--framework fsdp2, ddp, deepspeed or "
            "transformers)");
  EXPECT_EQ(refusal({{"gpus", "1"}, {"offload", "none"}, {"zero", "0"}}), "(no error)");
  EXPECT_NE(refusal({{"zero", "1"}}), "(no error)") << "a stage, not a size";
  EXPECT_NE(refusal({{"peft", "{\"r\": 8}"}}), "(no error)");
}

TEST(Frameworks, AreFoundByNameOrSuggested) {
  EXPECT_EQ(*find_framework("one-gpu", kAll), &kOneGpu);
  EXPECT_THAT(error_of({{"framework", "ani"}}), testing::HasSubstr("any"));
}

TEST(TrainRecipe, NamesTheOptionOfAWrongValue) {
  EXPECT_THAT(error_of({{"micro-batch-size", "0"}}), testing::StartsWith("--micro-batch-size"));
  EXPECT_THAT(error_of({{"optimizer", "adamv"}}), testing::HasSubstr("adamw"));
}

/// Of equal free blocks the caching allocator takes another one in older releases of torch.
TEST(Releases, DecideWhichEqualBlockIsTaken) {
  const Release newest;
  EXPECT_EQ(newest.has(changes::kOldestSegmentFirst),
            equal_blocks_of(newest) == EqualBlocks::oldest_segment);
  Release oldest;
  oldest.set(Package::torch, facts_of(Package::torch).oldest);
  EXPECT_EQ(oldest.has(changes::kOldestFreeBlockFirst),
            equal_blocks_of(oldest) != EqualBlocks::lowest_address);
}

}  // namespace
}  // namespace memtape
