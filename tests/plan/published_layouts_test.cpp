// SPDX-License-Identifier: Apache-2.0
// Layouts that were published: by the tool's own estimate none that fits is more than 2 % faster
// than what the search finds. Steps have fewer sequences than the published ones, which leaves the
// order of layouts as it is and the runs short; what is pinned is what the sources agree on.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "answer/handed.h"
#include "answer/plan_question.h"
#include "model/catalog.h"
#include "plan/published.h"

namespace memtape::plan {
namespace {

struct Published {
  const char* name;  ///< where it was published
  const char* model;
  const char* framework;
  int gpus, global_batch, sequence;
  NamedValues pinned;  ///< in the search, too
  Pins layout;
};

Pins pins(std::initializer_list<std::pair<Axis, std::int64_t>> sizes) {
  Pins made;
  for (const auto& [axis, size] : sizes) made.set(axis, {size});
  return made;
}

std::vector<Published> published() {
  const NamedValues one{{"micro-batch-size", "1"}};
  const NamedValues one_kept{{"micro-batch-size", "1"}, {"gradient-checkpointing", "none"}};
  NamedValues one_ring = one_kept;
  one_ring.emplace_back("cp", "2");
  return {
      {"Megatron-Bridge, LLAMA3_8B on 8 H100", "meta-llama/Llama-3.1-8B", "megatron-core", 8, 32,
       8192, one, pins({{Axis::tp, 1}, {Axis::pp, 1}, {Axis::cp, 2}})},
      {"Megatron-Bridge, LLAMA3_70B on 64 H100", "meta-llama/Llama-3.1-70B", "megatron-core", 64,
       32, 8192, one_kept, pins({{Axis::tp, 4}, {Axis::pp, 4}, {Axis::cp, 2}, {Axis::vpp, 5}})},
      {"Megatron-Bridge, LLAMA3.1_405B on 1,024 H100", "meta-llama/Llama-3.1-405B", "megatron-core",
       1024, 128, 8192, one_ring,
       pins({{Axis::tp, 8}, {Axis::pp, 8}, {Axis::cp, 2}, {Axis::vpp, 8}})},
      {"Megatron-Bridge, Qwen3_30B_a3B on 16 H100", "Qwen/Qwen3-30B-A3B", "megatron-core", 16, 32,
       4096, one,
       pins({{Axis::tp, 1}, {Axis::pp, 2}, {Axis::cp, 1}, {Axis::vpp, 12}, {Axis::ep, 8}})},
      {"torchtitan, Llama 3 8B on 8 H100",
       "meta-llama/Llama-3.1-8B",
       "torchtitan",
       8,
       16,
       8192,
       {},
       pins({{Axis::tp, 1}, {Axis::cp, 1}, {Axis::micro_batch, 2}})},
      {"torchtitan, Llama 3 70B on 256 H100",
       "meta-llama/Llama-3.1-70B",
       "torchtitan",
       256,
       512,
       8192,
       {{"cp", "1"}},
       pins({{Axis::tp, 8}, {Axis::cp, 1}, {Axis::micro_batch, 16}})},
  };
}

/// What --why names is in the space that is searched.
TEST(PublishedLayouts, AreAmongTheCandidates) {
  const answer::Handed outside({}, "", {}, {});
  for (const PublishedLayout& one : published_layouts()) {
    SCOPED_TRACE(one.where);
    bool is_known = false, is_candidate = false;
    for (const char* id :
         {"meta-llama/Llama-3.1-8B", "meta-llama/Llama-3.1-70B", "meta-llama/Llama-3.1-405B",
          "Qwen/Qwen3-30B-A3B", "Qwen/Qwen3-235B-A22B", "deepseek-ai/DeepSeek-V3"}) {
      answer::RawOptions raw;
      raw.model = id;
      raw.values = {{"gpu", "h100-80gb"},
                    {"framework", std::string(one.framework)},
                    {"gpus", fmt::format("{}", one.gpus)},
                    {"global-batch-size", fmt::format("{}", one.gpus * 4)},
                    {"sequence-length", fmt::format("{}", one.sequence)}};
      const Config config = *Config::parse(find_model(id)->config, id);
      auto question = answer::plan_question(raw, config, outside);
      ASSERT_TRUE(question) << question.error().line();
      Field& field = question->fields.front();
      if (!one.is_for(*field.job)) continue;
      is_known = true;
      for (const auto& [axis, size] : {std::pair(Axis::tp, one.tp), std::pair(Axis::cp, one.cp)})
        field.job->pins.set(axis, {size});
      for (const Candidate& c : points_of(*field.space, *field.job).all)
        is_candidate = is_candidate || one.is_of(c);
    }
    EXPECT_TRUE(is_known);
    EXPECT_TRUE(is_candidate);
  }
}

TEST(PublishedLayouts, AreNeverFasterThanWhatIsFound) {
  const answer::Handed outside({}, "", {}, {});
  for (const Published& one : published()) {
    SCOPED_TRACE(one.name);
    answer::RawOptions raw;
    raw.model = one.model;
    raw.values = {{"gpu", "h100-80gb"},
                  {"framework", one.framework},
                  {"gpus", fmt::format("{}", one.gpus)},
                  {"global-batch-size", fmt::format("{}", one.global_batch)},
                  {"sequence-length", fmt::format("{}", one.sequence)},
                  {"top", "1"}};
    raw.values.insert(raw.values.end(), one.pinned.begin(), one.pinned.end());
    const Config config = *Config::parse(find_model(one.model)->config, one.model);
    auto question = answer::plan_question(raw, config, outside);
    ASSERT_TRUE(question) << question.error().line();
    const ModelRequest model{.id = one.model, .config = config};
    const auto found = search_plans(question->fields, model, question->device, question->search);
    ASSERT_TRUE(found && found->fits()) << one.model;
    const double best = found->plans.front().step_seconds.mid;
    const Confirmation confirmation(model, question->device, {});
    Field& field = question->fields.front();
    field.job->pins = one.layout;
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
