// SPDX-License-Identifier: Apache-2.0
#include "tape/repeat.h"

#include <gtest/gtest.h>

namespace memtape {
namespace {

/// Step 0 keeps a block; step 1 takes two and gives both back.
Tape two_steps() {
  Tape tape;
  tape.mark({Phase::forward, 0, 0});
  tape.alloc(100, 0, {});
  tape.mark({Phase::forward, 1, 0});
  const BlockId first = tape.alloc(10, 0, {});
  const BlockId second = tape.alloc(20, 0, {});
  tape.free(first);
  tape.mark({Phase::backward, 1, 0});
  tape.free(second);
  return tape;
}
constexpr std::size_t kStepOne = 2;

TEST(Repeat, AppendsTheStretchWithBlocksOfItsOwn) {
  Tape tape = two_steps();
  ASSERT_TRUE(is_steady(tape, kStepOne));
  append_again(tape, kStepOne, 2);
  ASSERT_EQ(tape.events.size(), 14u);
  EXPECT_EQ(tape.requested, (std::vector<Bytes>{100, 10, 20, 10, 20}));
  EXPECT_EQ(tape.marks.back().step, 2);
  EXPECT_EQ(tape.marks.back().phase, Phase::backward);
  EXPECT_EQ(tape.events[11].block, 3u);  // the free of the first block of the new step
  EXPECT_EQ(tape.events[13].block, 4u);
}

TEST(Repeat, AStepThatLeavesSomethingIsNotSteady) {
  Tape tape = two_steps();
  EXPECT_FALSE(is_steady(tape, 0));
}

TEST(Repeat, AStepThatFreesWhatWasThereIsNotSteady) {
  Tape tape = two_steps();
  tape.alloc(100, 0, {});
  tape.free(0);
  EXPECT_FALSE(is_steady(tape, kStepOne));
}

TEST(Repeat, TheLastStepIsWrittenDownAfterASteadyOne) {
  Tape tape;
  int ran = 0;
  run_steps(tape, 3, [&](int step) {
    ++ran;
    tape.mark({Phase::forward, step, 0});
    tape.free(tape.alloc(10, 0, {}));
    return true;
  });
  EXPECT_EQ(ran, 2);
  EXPECT_EQ(tape.requested, (std::vector<Bytes>{10, 10, 10}));
  EXPECT_EQ(tape.marks.back().step, 2);
}

TEST(Repeat, EveryStepIsRunWhereTheOneBeforeKeepsSomething) {
  Tape tape;
  int ran = 0;
  run_steps(tape, 3, [&](int) {
    tape.alloc(10, 0, {});
    return ++ran > 0;
  });
  EXPECT_EQ(ran, 3);
}

TEST(Repeat, AStepThatFailsIsTheLast) {
  Tape tape;
  int ran = 0;
  run_steps(tape, 3, [&](int) { return ++ran < 1; });
  EXPECT_EQ(ran, 1);
}

/// Each step frees what the one before left and leaves a block of its own.
Tape steps_that_hand_over() {
  Tape tape;
  const auto step = [&tape](std::optional<BlockId> taken) {
    const BlockId own = tape.alloc(10, 0, {});
    if (taken) tape.free(*taken);
    const BlockId left = tape.alloc(20, 0, {});
    tape.free(own);
    return left;
  };
  step(step(std::nullopt));
  return tape;
}
constexpr std::size_t kSecondStep = 3;

TEST(Repeat, AStepTakesOverWhatTheOneBeforeLeft) {
  Tape tape = steps_that_hand_over();
  const std::optional<Handover> given = handover(tape, 0, kSecondStep);
  ASSERT_TRUE(given.has_value());
  EXPECT_EQ(*given, (Handover{{1, 3}}));
  append_again(tape, {kSecondStep, tape.events.size()}, 2, *given);
  ASSERT_EQ(tape.events.size(), 11u);
  EXPECT_EQ(tape.events[7].block, 4u);  // the third step's own
  EXPECT_EQ(tape.events[8].block, 3u);  // what the second left goes
  EXPECT_EQ(tape.events[9].block, 5u);
  EXPECT_EQ(tape.events[10].block, 4u);
}

TEST(Repeat, ABlockOfAnotherSizeIsNoHandover) {
  Tape tape = steps_that_hand_over();
  tape.requested[3] = 30;
  EXPECT_FALSE(handover(tape, 0, kSecondStep).has_value());
}

TEST(Repeat, AnOlderBlockIsNotHandedOver) {
  Tape tape = steps_that_hand_over();
  EXPECT_FALSE(handover(tape, 2, kSecondStep).has_value());
}

}  // namespace
}  // namespace memtape
