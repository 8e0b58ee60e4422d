// SPDX-License-Identifier: Apache-2.0
// A step that is asked for its fullest ranks alone says what it says when every rank is run:
// pipelines, shards and recomputation drawn at random.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>

#include <fmt/format.h>

#include "draw.h"
#include "framework/dialects.h"
#include "framework/megatron/strategy.h"
#include "predict/train.h"

namespace memtape {
namespace {

constexpr const char* kModel =
    R"({"model_type": "llama", "hidden_size": 1024, "intermediate_size": 4096,
        "num_hidden_layers": 16, "num_attention_heads": 8, "num_key_value_heads": 8,
        "vocab_size": 32000})";

TrainRecipe drawn(unsigned seed) {
  Draw draw(seed);
  TrainRecipe recipe;
  recipe.framework = *find_framework("megatron-core", frameworks());
  recipe.weights = DType::bfloat16;
  recipe.sequence_length = draw.of({512, 2048, 4096});
  recipe.checkpointing =
      draw.of({Checkpointing::none, Checkpointing::selective, Checkpointing::full});
  LayoutRecipe& layout = recipe.layout;
  layout.pp = draw.of({4, 8, 16});
  layout.tp = draw.of({1, 2});
  if (*layout.tp > 1) layout.sp = *layout.tp;
  if (*layout.pp < 16) layout.vpp = draw.of({1, 2});
  if (*layout.vpp == 1 || *layout.pp == 16) layout.vpp.reset();
  layout.zero = 1;
  layout.gpus = *layout.pp * *layout.tp * draw.of({1, 2, 3});
  recipe.gradient_accumulation = static_cast<std::int64_t>(*layout.pp * draw.of({1, 2}));
  recipe.names_gradient_accumulation = true;
  return recipe;
}

Prediction asked(const TrainRecipe& recipe, bool fullest_only) {
  static const Config config = *Config::parse(kModel, "config.json");
  DeviceSetup device;
  device.gpu = *find_gpu("h100-80gb");
  auto answer = predict_train({.id = "small", .config = config}, recipe, device,
                              {.largest = 0, .fullest_only = fullest_only});
  EXPECT_TRUE(answer.has_value()) << (answer ? "" : answer.error().line());
  return answer ? std::move(answer->prediction) : Prediction();
}

std::size_t ranks_in(const Prediction& p) {
  std::size_t ranks = 0;
  for (const RankReport& report : p.ranks) ranks += report.ranks.size();
  return ranks;
}

const RankReport& fullest(const Prediction& p) {
  return *std::ranges::max_element(p.ranks, {}, &RankReport::peak_device_bytes);
}

TEST(FullestRanks, AreThoseOfAllRanks) {
  constexpr unsigned kDraws = 200;
  int left_out = 0;
  for (unsigned seed = 0; seed < kDraws; ++seed) {
    const TrainRecipe recipe = drawn(seed);
    SCOPED_TRACE(fmt::format("seed {}: pp {} vpp {} tp {} on {} GPUs, {} micro-batches", seed,
                             *recipe.layout.pp, recipe.layout.vpp.value_or(1), *recipe.layout.tp,
                             recipe.layout.gpus, recipe.gradient_accumulation));
    const Prediction all = asked(recipe, false), some = asked(recipe, true);
    ASSERT_FALSE(HasFailure());
    EXPECT_EQ(fullest(some).peak_device_bytes, fullest(all).peak_device_bytes);
    EXPECT_EQ(some.peak_rank, all.peak_rank);
    EXPECT_EQ(some.bounds.high_bytes, all.bounds.high_bytes);
    left_out += ranks_in(some) < ranks_in(all);
  }
  EXPECT_GT(left_out, 40);
}

/// What leaving ranks out relies on.
TEST(FullestRanks, HoldNoMoreWithFewerMicroBatchesInFlight) {
  for (unsigned seed = 1000; seed < 1030; ++seed) {
    const TrainRecipe recipe = drawn(seed);
    const Prediction all = asked(recipe, false);
    std::map<int, Bytes> most;  // by stage: of all cuts of its shards
    for (const RankReport& report : all.ranks)
      most[report.stage] = std::max(most[report.stage], report.peak.requested);
    const int last = static_cast<int>(*recipe.layout.pp) - 1;
    for (const auto& [stage, bytes] : most) {
      if (stage < 2 || stage == last) continue;
      EXPECT_LE(bytes, std::prev(most.find(stage))->second)
          << "seed " << seed << ", stage " << stage;
    }
  }
}

}  // namespace
}  // namespace memtape
