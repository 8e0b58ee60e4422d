// SPDX-License-Identifier: Apache-2.0
#include "timeline/play.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memtape {
namespace {

using ::testing::ElementsAre;

Why of(Category category) {
  Why why;
  why.category = category;
  return why;
}

/// init: a weight; step 0: forward takes two activations, backward frees one and takes a gradient.
Tape small_program() {
  Tape tape;
  tape.alloc(11_MiB + 512_KiB, 0, of(Category::parameter));
  tape.mark({.phase = Phase::forward, .step = 0});
  const BlockId a = tape.alloc(30_MiB, 0, of(Category::activation));
  tape.alloc(1000, 0, of(Category::activation));
  tape.mark({.phase = Phase::backward, .step = 0});
  tape.free(a);
  tape.alloc(0, 0, of(Category::gradient));
  tape.alloc(29_MiB + 512_KiB, 0, of(Category::gradient));
  return tape;
}

class PlayTest : public ::testing::Test {
 protected:
  std::unique_ptr<Driver> driver_ = make_driver(DriverPlacement::linux_regions);
  CachingAllocator allocator_{*driver_};
  Played played_;
};

TEST_F(PlayTest, PeaksOfAWindowStartAtItsFirstLevel) {
  const Tape tape = small_program();
  const Timeline timeline = play(tape, allocator_, played_);
  ASSERT_EQ(timeline.windows.size(), 3u);
  const Window& init = timeline.windows[0];
  const Window& forward = timeline.windows[1];
  const Window& backward = timeline.windows[2];
  EXPECT_EQ(init.mark.step, -1);
  EXPECT_EQ(init.peak.allocated, 12_MiB) << "the whole segment, unsplit";
  EXPECT_EQ(forward.at_start.allocated, 12_MiB);
  EXPECT_EQ(forward.peak.allocated, 42_MiB + 1024);
  EXPECT_EQ(forward.peak_event, 3u);
  EXPECT_EQ(forward.peak.requested, 41_MiB + 512_KiB + 1000);
  EXPECT_EQ(forward.first_event, 1u);
  EXPECT_EQ(forward.last_event, 4u);
  EXPECT_EQ(backward.mark.phase, Phase::backward);
  EXPECT_EQ(backward.peak.allocated, backward.at_start.allocated);
  EXPECT_EQ(backward.peak_event, 4u);
  EXPECT_EQ(backward.peak.reserved, 44_MiB);
  EXPECT_EQ(timeline.final_levels.allocated, 42_MiB + 1024)
      << "the gradient took over all 30 MiB of the activation";
  EXPECT_EQ(timeline.final_levels.requested, 41_MiB + 1000);
}

TEST_F(PlayTest, RecordsSizesAndAddressesOfBlocks) {
  const Tape tape = small_program();
  play(tape, allocator_, played_);
  EXPECT_THAT(played_.sizes, ElementsAre(12_MiB, 30_MiB, 1024, 0, 30_MiB));
  EXPECT_EQ(played_.addresses[1], played_.addresses[4]);
  EXPECT_EQ(played_.blocks[3], nullptr);
}

TEST_F(PlayTest, CanBePlayedPieceByPiece) {
  const Tape tape = small_program();
  const Timeline first = play(tape, allocator_, played_, {.to = 3});
  const Timeline second = play(tape, allocator_, played_, {.from = 3});
  ASSERT_EQ(first.windows.size(), 2u);
  ASSERT_EQ(second.windows.size(), 2u);
  EXPECT_EQ(second.windows[0].mark.phase, Phase::forward) << "of the mark before";
  EXPECT_EQ(second.windows[0].at_start.allocated, first.final_levels.allocated);
  CachingAllocator whole_allocator(*driver_);
  Played whole;
  EXPECT_EQ(play(tape, whole_allocator, whole).final_levels.reserved, second.final_levels.reserved);
}

TEST_F(PlayTest, KeepsSamplesWhenAsked) {
  const Tape tape = small_program();
  const Timeline timeline = play(tape, allocator_, played_, {.samples = true});
  ASSERT_EQ(timeline.samples.size(), tape.events.size());
  EXPECT_EQ(timeline.samples[2].levels.allocated, 42_MiB);
  EXPECT_TRUE(play(tape, allocator_, played_, {.from = tape.events.size()}).samples.empty());
}

TEST_F(PlayTest, StopsAtTheRequestTheDeviceCannotServe) {
  const Tape tape = small_program();
  driver_->set_memory({.total = 43_MiB, .outside = 0});
  const Timeline timeline = play(tape, allocator_, played_);
  ASSERT_TRUE(timeline.out_of_memory);
  EXPECT_EQ(timeline.out_of_memory->event, 3u);
  EXPECT_EQ(timeline.out_of_memory->block, 2u);
  EXPECT_EQ(timeline.out_of_memory->requested, 1000);
  EXPECT_EQ(timeline.out_of_memory->segment, 2_MiB);
  EXPECT_EQ(timeline.out_of_memory->levels.reserved, 42_MiB);
  EXPECT_EQ(timeline.alloc_retries, 1);
  EXPECT_EQ(timeline.windows.size(), 2u);
}

TEST_F(PlayTest, RecordsStreamsAndEmptiesCaches) {
  Tape tape;
  const BlockId a = tape.alloc(20_MiB, 0, {});
  tape.events.push_back({EventKind::record_stream, 1, a});
  tape.free(a);
  tape.events.push_back({EventKind::empty_cache, 0, 0});
  const Timeline timeline = play(tape, allocator_, played_, {.samples = true});
  EXPECT_EQ(timeline.samples[2].levels.requested, 20_MiB) << "until the other stream is done";
  EXPECT_EQ(timeline.final_levels.requested, 0);
  EXPECT_EQ(timeline.final_levels.reserved, 0);
}

TEST(IdealPlay, IsTheLowerBound) {
  IdealAllocator ideal;
  const Timeline timeline = play(small_program(), ideal);
  ASSERT_EQ(timeline.windows.size(), 3u);
  EXPECT_EQ(timeline.windows[1].peak.reserved, 41_MiB + 512_KiB + 1000);
  EXPECT_EQ(timeline.final_levels.allocated, 41_MiB + 1000);
  EXPECT_EQ(ideal.peak(), 41_MiB + 512_KiB + 1000);
}

TEST_F(PlayTest, AliveByCategory) {
  const Tape tape = small_program();
  play(tape, allocator_, played_);
  const Lifetimes lifetimes(tape);
  EXPECT_THAT(lifetimes.alive(3), ElementsAre(0, 1, 2));
  EXPECT_THAT(lifetimes.alive(100), ElementsAre(0, 2, 3, 4));
  const CategoryBytes bytes = lifetimes.alive_by_category(played_.sizes, 3);
  EXPECT_EQ(bytes[Category::parameter], 12_MiB);
  EXPECT_EQ(bytes[Category::activation], 30_MiB + 1024);
  EXPECT_EQ(bytes.total(), 42_MiB + 1024) << "allocated after that event";
}

}  // namespace
}  // namespace memtape
