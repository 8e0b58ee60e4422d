// SPDX-License-Identifier: Apache-2.0
#include "evidence/layers.h"

#include <numeric>
#include <random>

#include <gtest/gtest.h>

#include "evidence/flame.h"

namespace memtape {
namespace {

/// Blocks of whole KiB come and go in one segment, each from one of a few stacks.
Recording drawn(std::uint32_t seed, std::size_t count) {
  std::mt19937 random(seed);
  Stacks stacks;
  const auto text = [&](std::string t) {
    stacks.texts.push_back(std::move(t));
    return static_cast<TextId>(stacks.texts.size() - 1);
  };
  const TextId file = text("train.py"), outer = text("main"), inner = text("step");
  stacks.frames = {{file, outer, 1}, {file, inner, 2}, {file, inner, 3}};
  stacks.stacks = {{}, {1, 0}, {2, 0}};
  Recording recording;
  recording.stacks = std::make_shared<Stacks>(std::move(stacks));
  std::vector<std::pair<Address, Bytes>> live;
  Address next = 0;
  auto& events = recording.trace.events;
  for (std::size_t i = 0; i < count; ++i) {
    const bool frees = !live.empty() && random() % 3 == 0;
    if (frees) {
      std::swap(live[random() % live.size()], live.back());
      events.push_back({TraceAction::free_completed, 0, live.back().first, live.back().second});
      live.pop_back();
    } else {
      const Bytes size = static_cast<Bytes>(1 + random() % 64) * 1024;
      events.push_back({TraceAction::alloc, 0, next, size});
      live.emplace_back(next, size);
      next += size;
    }
    recording.event_stacks.push_back(frees ? 0 : 1 + random() % 2);
  }
  return recording;
}

/// What is allocated after an event, counted anew.
Bytes allocated_after(const Held& held, std::uint32_t event) {
  Bytes sum = 0;
  for (const BlockLife& life : held.lives) sum += life.alive_after(event) ? life.size : 0;
  return sum;
}

TEST(Layers, AddUpToWhatIsAllocatedAndMissNoPeak) {
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    const Recording recording = drawn(seed, 500);
    const Held held = held_of(recording);
    Stories stories(*recording.stacks);
    const Layers layers = layers_of(recording, held, stories, 40, 1);
    ASSERT_LE(layers.events.size(), 40u);
    Bytes highest = 0;
    for (std::size_t column = 0; column < layers.events.size(); ++column) {
      Bytes sum = 0;
      for (const Layer& layer : layers.layers) {
        EXPECT_GE(layer.bytes[column], 0);
        sum += layer.bytes[column];
      }
      EXPECT_EQ(sum, allocated_after(held, layers.events[column]));
      highest = std::max(highest, sum);
    }
    EXPECT_EQ(highest, held.peak.levels.allocated);
  }
}

TEST(Layers, OfNothingAreNone) {
  const Recording nothing;
  const Held held = held_of(nothing);
  Stories stories(*nothing.stacks);
  EXPECT_TRUE(layers_of(nothing, held, stories, 40, 10).events.empty());
}

TEST(Flame, ChildrenAddUpToTheirCallers) {
  const Recording recording = drawn(7, 500);
  const Held held = held_of(recording);
  Stories stories(*recording.stacks);
  const Account account = account_of(held.alive_at(held.peak), stories);
  const FlameNode root = flame_of(account, stories, 0);
  EXPECT_EQ(root.bytes, held.peak.levels.allocated);
  ASSERT_EQ(root.children.size(), 1u);
  const FlameNode& main = root.children.front();
  EXPECT_EQ(main.bytes, root.bytes);
  EXPECT_EQ(main.children.size(), 2u);
  EXPECT_EQ(main.children[0].bytes + main.children[1].bytes, main.bytes);
  EXPECT_TRUE(flame_of(account, stories, root.bytes + 1).children.empty());
}

}  // namespace
}  // namespace memtape
