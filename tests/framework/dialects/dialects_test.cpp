// SPDX-License-Identifier: Apache-2.0
// Every dialect answers what is asked of any: it has a name, trains a small model, is timed, and
// what is planned has a space and files to start from.
#include "framework/dialects.h"
#include "framework/train_arguments.h"

#include <set>

#include <gtest/gtest.h>

#include "predict/outside.h"
#include "predict/program.h"
#include "predict/releases_meant.h"
#include "predict/serve.h"
#include "workload/read_recipe.h"

namespace memtape {
namespace {

Config small_model() {
  return *Config::parse(R"({"model_type": "llama", "vocab_size": 1003, "hidden_size": 64,
    "intermediate_size": 160, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "max_position_embeddings": 128})",
                        "config.json");
}

/// The recipe of the options that every framework takes.
TrainRecipe recipe_of(const Dialect& dialect, std::int64_t gpus) {
  std::vector<NamedValue> options{{"framework", std::string(dialect.framework.name)},
                                  {"sequence-length", "64"},
                                  {"max-grad-norm", "none"}};
  if (gpus > 1) options.emplace_back("gpus", std::to_string(gpus));
  const auto recipe = train_recipe(options, frameworks());
  EXPECT_TRUE(recipe.has_value()) << (recipe ? "" : recipe.error().line());
  const auto settled = resolved(recipe.value(), small_model());
  EXPECT_TRUE(settled.has_value()) << (settled ? "" : settled.error().line());
  return settled.value();
}

class DialectTest : public testing::TestWithParam<const Dialect*> {};

TEST_P(DialectTest, HasNoGap) {
  const Dialect& d = *GetParam();
  EXPECT_FALSE(d.framework.name.empty());
  EXPECT_FALSE(d.framework.summary.empty());
  EXPECT_FALSE(d.tasks.empty());
  EXPECT_TRUE(d.packages && d.settle && d.data_ranks && d.plan && d.ranks && d.run);
  EXPECT_TRUE(d.levers.fused_optimizer);
  for (const AbsentOption& absent : d.framework.absent)
    EXPECT_FALSE(absent.option.empty() || absent.what.empty() || absent.hint.empty());
}

TEST_P(DialectTest, IsFoundByItsName) {
  const auto found = find_framework(GetParam()->framework.name, frameworks());
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(&dialect_of(*found), GetParam());
}

TEST_P(DialectTest, TrainsASmallModel) {
  const TrainRecipe recipe = recipe_of(*GetParam(), 1);
  const auto plan = plan_of(small_model(), recipe);
  ASSERT_TRUE(plan.has_value()) << plan.error().line();
  const auto ranks = reported_ranks(**plan, small_model());
  ASSERT_TRUE(ranks.has_value()) << ranks.error().line();
  const auto run = run_plan(**plan, small_model(), {}, ranks->front().ranks.front());
  ASSERT_TRUE(run.has_value()) << run.error().line();
  EXPECT_GT(run->statics.parameter_bytes, 0);
  EXPECT_FALSE(packages_of(recipe).empty());
}

TEST_P(DialectTest, IsTimed) {
  const time::TrainSetup setup = time::train_setup(recipe_of(*GetParam(), 1), GetParam()->time);
  EXPECT_GT(setup.gradient_bytes, 0);
  EXPECT_GT(setup.optimizer_bytes, 0);
}

/// A pipeline of torch is told how long it is; all others lie on any number of GPUs.
TEST_P(DialectTest, CountsWhatLiesOutsideTheAllocatorOnSeveralGpus) {
  if (!GetParam()->framework.takes.several_gpus) return;
  EXPECT_FALSE(communicators(recipe_of(*GetParam(), 2)).empty());
}

TEST_P(DialectTest, IsExportedWhereItIsPlanned) {
  const Dialect& d = *GetParam();
  const bool has_space = d.space != PlanSpace::none;
  EXPECT_EQ(has_space, d.exported != ExportedProgram::none);
  EXPECT_TRUE(has_space || (d.planned.on_one_gpu == 0 && d.planned.on_many == 0));
}

INSTANTIATE_TEST_SUITE_P(All, DialectTest, testing::ValuesIn(dialects().begin(), dialects().end()),
                         [](const auto& one) {
                           std::string name(one.param->framework.name);
                           std::erase(name, '-');
                           return name;
                         });

TEST(Dialects, AreNamedByTheHelp) {
  const std::string help = option::named(all_train_options(), "framework")->help_line();
  for (const Dialect* dialect : dialects())
    EXPECT_NE(help.find(dialect->framework.name), help.npos) << dialect->framework.name;
}

TEST(Engines, SayAllFlagsOfAPlanOrAreNotPlanned) {
  for (const ServeEngine& engine : serve_engines()) {
    EXPECT_FALSE(engine.name.empty() || engine.summary.empty() || engine.flags.empty());
    if (!engine.planned) continue;
    const PlannedServer& plan = *engine.planned;
    for (const std::string_view flag : {plan.tensor_parallel, plan.length, plan.sequences})
      EXPECT_TRUE(find_flag(engine.flags, "--" + std::string(flag))) << flag;
    EXPECT_FALSE(plan.program.empty() || plan.image.empty() || plan.entry.empty());
  }
}

TEST(Dialects, HavePlacesOfTheirOwnAmongThoseThatArePlanned) {
  for (const auto place : {&PlannedPlace::on_one_gpu, &PlannedPlace::on_many}) {
    std::set<int> taken;
    for (const Dialect* dialect : dialects()) {
      const int at = dialect->planned.*place;
      EXPECT_TRUE(at == 0 || taken.insert(at).second);
    }
  }
}

}  // namespace
}  // namespace memtape
