// SPDX-License-Identifier: Apache-2.0
// Layouts that were published: by the tool's own estimate none that fits is more than 2 % faster
// than what the search finds. Steps have fewer sequences than the published ones, which leaves the
// order of layouts as it is and the runs short.
#include <gtest/gtest.h>

#include <algorithm>

#include <fmt/format.h>

#include "answer/handed.h"
#include "answer/plan_question.h"
#include "model/catalog.h"
#include "plan/published.h"

namespace memtape::plan {
namespace {

answer::PlanQuestion question_about(const PublishedLayout& one, const Config& config,
                                    std::int64_t global_batch) {
  const answer::Handed outside({}, "", {}, {});
  answer::RawOptions raw;
  raw.model = std::string(one.model);
  raw.values = {{"gpu", one.capability == 9 ? "h100-80gb" : "b200-180gb"},
                {"framework", std::string(one.framework)},
                {"gpus", fmt::format("{}", one.gpus)},
                {"global-batch-size", fmt::format("{}", global_batch)},
                {"sequence-length", fmt::format("{}", one.sequence)},
                {"top", "1"}};
  auto question = answer::plan_question(raw, config, outside);
  EXPECT_TRUE(question) << question.error().line();
  return std::move(*question);
}

Config config_of(const PublishedLayout& one) {
  return *Config::parse(find_model(std::string(one.model))->config, std::string(one.model));
}

/// The pins of the sizes that the source says.
Pins pins_of(const PublishedLayout& one) {
  Pins pins;
  for (const auto& [axis, size] :
       {std::pair(Axis::tp, one.tp), std::pair(Axis::cp, one.cp), std::pair(Axis::pp, one.pp),
        std::pair(Axis::vpp, one.vpp), std::pair(Axis::ep, one.ep),
        std::pair(Axis::micro_batch, one.micro_batch)})
    if (size > 0) pins.set(axis, {size});
  return pins;
}

/// What --why names is in the space that is searched.
TEST(PublishedLayouts, AreAmongTheCandidates) {
  for (const PublishedLayout& one : published_layouts()) {
    SCOPED_TRACE(one.where);
    const Config config = config_of(one);
    const answer::PlanQuestion question = question_about(one, config, one.gpus * 4);
    const Field& field = question.fields.front();
    EXPECT_TRUE(one.is_for(*field.job));
    for (const auto& [axis, size] : {std::pair(Axis::tp, one.tp), std::pair(Axis::cp, one.cp)})
      field.job->pins.set(axis, {size});
    const auto is_it = [&one](const Candidate& c) { return one.is_of(c); };
    EXPECT_TRUE(std::ranges::any_of(points_of(*field.space, *field.job).all, is_it));
  }
}

/// Whether its search takes a second or so.
bool is_quick(const PublishedLayout& one) {
  return one.gpus <= 1024 && (one.experts == 0 || (one.gpus <= 32 && one.layers < 48));
}

TEST(PublishedLayouts, AreNeverFasterThanWhatIsFound) {
  for (const PublishedLayout& one : published_layouts()) {
    if (!is_quick(one)) continue;
    SCOPED_TRACE(one.where);
    const Config config = config_of(one);
    const std::int64_t replicas = one.gpus / (one.tp * one.cp * one.pp);
    auto asked = question_about(one, config,
                                replicas * one.micro_batch * std::max<std::int64_t>(4, 2 * one.pp));
    const ModelRequest model{.id = std::string(one.model), .config = config};
    const auto found = search_plans(asked.fields, model, asked.device, asked.search);
    ASSERT_TRUE(found && found->fits());
    const double best = found->plans.front().step_seconds.mid;
    const Confirmation confirmation(model, asked.device, {});
    const Field& field = asked.fields.front();
    field.job->pins = pins_of(one);
    const Points points = points_of(*field.space, *field.job);
    ASSERT_FALSE(points.all.empty()) << points.deepest;
    for (const Candidate& c : points.all) {
      const double seconds = field.clock->seconds(c);
      if (1.02 * seconds >= best) continue;
      const auto exactly = confirmation.all_ranks(field.reading, field.space->layout(c));
      EXPECT_FALSE(exactly && exactly->verdict == VerdictWord::fits)
          << in_words(c) << " takes " << seconds << " s; found was " << found->plans.front().words
          << ": " << best << " s";
    }
  }
}

}  // namespace
}  // namespace memtape::plan
