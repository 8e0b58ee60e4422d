// SPDX-License-Identifier: Apache-2.0
// The registry has every file of src/family/models, and every fact that somebody asks for is known.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "family/registry.h"
#include "small_models.h"
#include "time/built_model.h"

namespace memtape {
namespace {

using family::FamilyFacts;
using family::Known;
using family::Modeling;
using family::States;

/// The types that a file of models/ defines.
std::vector<std::string> defined_in(const std::filesystem::path& file) {
  constexpr std::string_view kMember = ".model_type = \"";
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  const std::string source = text.str();
  std::vector<std::string> types;
  for (std::size_t at = source.find(kMember); at != std::string::npos;
       at = source.find(kMember, at + 1)) {
    const std::size_t begin = at + kMember.size();
    types.push_back(source.substr(begin, source.find('"', begin) - begin));
  }
  return types;
}

std::multiset<std::string> defined_types() {
  std::multiset<std::string> types;
  for (const auto& file :
       std::filesystem::directory_iterator(MEMTAPE_TEST_DIR "/../src/family/models")) {
    if (file.path().extension() != ".cpp") continue;
    const std::vector<std::string> found = defined_in(file.path());
    EXPECT_FALSE(found.empty()) << file.path() << " defines no family";
    types.insert(found.begin(), found.end());
  }
  return types;
}

TEST(Families, AreThoseOfTheFilesEachOnce) {
  std::multiset<std::string> listed;
  for (const FamilyFacts* facts : family::families()) listed.insert(std::string(facts->model_type));
  EXPECT_EQ(listed, defined_types());
  EXPECT_EQ(listed.size(), std::set<std::string>(listed.begin(), listed.end()).size());
}

TEST(Families, StandInForThoseOfTheHubAreOfTransformers) {
  for (const FamilyFacts* facts : family::families()) {
    if (facts->nearest.empty()) continue;
    const auto nearest =
        std::ranges::find(family::families(), facts->nearest, &FamilyFacts::model_type);
    ASSERT_NE(nearest, family::families().end()) << facts->model_type;
    EXPECT_TRUE((*nearest)->nearest.empty()) << facts->model_type;
  }
}

TEST(Families, HaveTextsThatAreNoFamilyOfTheirOwn) {
  for (const FamilyFacts* facts : family::families())
    EXPECT_EQ(std::ranges::count(family::families(), facts->text_type, &FamilyFacts::model_type), 0)
        << facts->text_type;
}

class FactsOfFamily : public testing::TestWithParam<const FamilyFacts*> {};

TEST_P(FactsOfFamily, AreKnownWhereTheyAreAskedFor) {
  const FamilyFacts& facts = *GetParam();
  const Modeling& modeling = facts.modeling;
  EXPECT_NE(facts.build, nullptr);
  EXPECT_NE(facts.ties_head, Known::unknown);               // engines
  EXPECT_NE(modeling.states, States::unknown);              // packing
  EXPECT_NE(modeling.caches_in_training, Known::unknown);   // loops without Trainer
  EXPECT_NE(modeling.counts_from_padding, Known::unknown);  // the usual length of texts
  if (facts.task != Task::causal_lm && facts.task != Task::image_text_to_text) return;
  EXPECT_NE(facts.has_bos, Known::unknown);  // generate()
  EXPECT_NE(modeling.stateful, Known::unknown);
  EXPECT_NE(modeling.has_sdpa, Known::unknown);
  EXPECT_NE(modeling.takes_position_ids, Known::unknown);
  EXPECT_NE(modeling.multimodal_rope, Known::unknown);
}

INSTANTIATE_TEST_SUITE_P(All, FactsOfFamily,
                         testing::ValuesIn(family::families().begin(), family::families().end()),
                         [](const auto& instance) {
                           std::string name(instance.param->model_type);
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

class SmallModelOfFamily : public testing::TestWithParam<SmallModel> {};

/// Where a configuration is silent the builder does what the facts say.
TEST_P(SmallModelOfFamily, TiesItsHeadAsItsFactsSay) {
  const SmallModel& model = GetParam();
  if (model.task != Task::causal_lm && model.task != Task::masked_lm) return;
  const auto built = time::built_model(model.config(), model.task, {});
  ASSERT_TRUE(built.has_value());
  const FamilyFacts* const facts = family::text_facts_of(model.config());
  ASSERT_NE(facts, nullptr);
  EXPECT_EQ(!built->has_own_head, facts->ties_head == Known::yes);
}

INSTANTIATE_TEST_SUITE_P(All, SmallModelOfFamily, testing::ValuesIn(small_models()),
                         [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace memtape
