// SPDX-License-Identifier: Apache-2.0
// The table of trl's fields: each field means one thing to a trainer, and asks for one where it is
// given without --trainer.
#include "framework/transformers/arguments/trl_config.h"

#include <bit>
#include <set>
#include <span>

#include <gtest/gtest.h>

namespace memtape::transformers {
namespace {

TEST(TrlFields, MeanOneThingToEachTrainer) {
  std::set<std::pair<std::string_view, unsigned>> seen;
  for (const auto& [of, argument] : trl_fields()) {
    EXPECT_NE(of, 0U) << argument.name();
    for (const TrlConfig* config : trl_configs()) {
      const bool is_new =
          (of & config->bit()) == 0 || seen.emplace(argument.name(), config->bit()).second;
      EXPECT_TRUE(is_new) << config->name << " has " << argument.name() << " twice";
    }
  }
}

void expect_in_order(std::span<const TrlField> fields) {
  int last = 0;
  std::set<std::string_view> seen;
  for (const auto& [of, argument] : fields) {
    if (!seen.insert(argument.name()).second) continue;
    EXPECT_GE(std::countr_zero(of), last) << argument.name();
    last = std::countr_zero(of);
  }
}

TEST(TrlFields, StandByTheFirstTrainerThatHasThem) {
  const std::span<const TrlField> without_effect = data::neutral_trl_fields();
  expect_in_order(trl_fields().first(trl_fields().size() - without_effect.size()));
  expect_in_order(without_effect);
}

TEST(TrlConfigs, StandInTheOrderOfTheirTrainers) {
  for (std::size_t i = 0; i < trl_configs().size(); ++i)
    EXPECT_EQ(trl_configs()[i]->bit(), 1U << i) << trl_configs()[i]->name;
}

TEST(TrlConfigs, BeginWithDefaultsOfTheirOwn) {
  TrainRecipe recipe;
  kRloo.start(recipe);
  EXPECT_EQ(recipe.trl, TrlTrainer::rloo);
  EXPECT_EQ(trainer_of(recipe).grpo->num_generations, 2);
  const Argument* field = kRloo.find("num_generations");
  ASSERT_NE(field, nullptr);
  ASSERT_TRUE(tell(*field, "4", recipe));
  EXPECT_EQ(trainer_of(recipe).grpo->num_generations, 4);
  EXPECT_EQ(kRloo.find("scale_rewards"), nullptr);
}

}  // namespace
}  // namespace memtape::transformers
