// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "framework/torch/lora.h"
#include "framework/torch/train_loop.h"

namespace memtape::torch {
namespace {

using testing::HasSubstr;

constexpr std::string_view kTinyLlama =
    R"({"model_type": "llama", "vocab_size": 1000, "hidden_size": 64, "intermediate_size": 128,
        "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2})";

// One layer holds q, o 64 x 64, k, v 32 x 64, gate, up 128 x 64, down 64 x 128 and two norms of 64.
constexpr std::int64_t kBase = 2 * 1000 * 64 + 2 * (2 * 4096 + 2 * 2048 + 3 * 8192 + 128) + 64;

TrainRecipe recipe() {
  TrainRecipe r;
  r.sequence_length = 32;
  return r;
}

Result<TrainRun> run(const TrainRecipe& r) {
  return run_training(Config::parse(kTinyLlama, "config.json").value(), r, ghost::DeviceTraits{});
}

TrainRecipe with_lora(std::vector<std::string> targets) {
  TrainRecipe r = recipe();
  r.lora.emplace();
  r.lora->rank = 4;
  r.lora->targets = std::move(targets);
  return r;
}

TEST(Lora, AddsTwoMatricesToEachTarget) {
  const Result<TrainRun> trained = run(with_lora({"q_proj", "v_proj"}));
  ASSERT_TRUE(trained);
  const std::int64_t added = 2 * 4 * ((64 + 64) + (64 + 32));
  EXPECT_EQ(trained->statics.parameters, kBase + added);
  EXPECT_EQ(trained->statics.trainable_parameters, added);
  EXPECT_EQ(trained->statics.parameter_bytes, 2 * kBase + 4 * added) << "adapters are in float32";
  EXPECT_EQ(trained->statics.gradient_bytes, 4 * added);
}

TEST(Lora, AllLinearLeavesTheHeadAlone) {
  const Result<TrainRun> trained = run(with_lora({"all-linear"}));
  ASSERT_TRUE(trained);
  const std::int64_t pairs = 2 * 128 + 2 * 96 + 3 * 192;
  EXPECT_EQ(trained->statics.trainable_parameters, 2 * 4 * pairs);
}

TEST(Lora, TargetsMatchWholeNamesOrTheirEnds) {
  const Result<TrainRun> one = run(with_lora({"layers.1.self_attn.q_proj"}));
  ASSERT_TRUE(one);
  EXPECT_EQ(one->statics.trainable_parameters, 4 * 128);
  EXPECT_FALSE(run(with_lora({"proj"}))) << "a part of a name is no name";
}

TEST(Lora, NamesTheNearestModule) {
  const Result<TrainRun> wrong = run(with_lora({"q_prj"}));
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().kind, ErrorKind::bad_input);
  EXPECT_THAT(wrong.error().line(), HasSubstr("q_proj"));
}

TEST(Lora, RefusesWhatIsNoLinearLayer) {
  const Result<TrainRun> wrong = run(with_lora({"embed_tokens"}));
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().kind, ErrorKind::unsupported);
}

TEST(Freeze, SeesTheNamesPeftGives) {
  TrainRecipe r = with_lora({"q_proj", "v_proj"});
  r.freeze = {"base_model.model.*.q_proj.lora_A.*"};
  const Result<TrainRun> trained = run(r);
  ASSERT_TRUE(trained);
  EXPECT_EQ(trained->statics.trainable_parameters, 2 * 4 * (64 + (64 + 32)));
}

TEST(Freeze, TakesParametersFromTheOptimizer) {
  TrainRecipe r = recipe();
  r.freeze = {"*embed*", "lm_head.weight"};
  const Result<TrainRun> trained = run(r);
  ASSERT_TRUE(trained);
  EXPECT_EQ(trained->statics.trainable_parameters, kBase - 2 * 1000 * 64);
}

/// Requested bytes alive at most, from the third step on.
Bytes peak_of_last_step(const Tape& tape) {
  Bytes live = 0, peak = 0;
  bool last = false;
  for (const Event& event : tape.events) {
    if (event.kind == EventKind::mark) last = last || tape.marks[event.block].step == kSteps - 1;
    if (event.kind == EventKind::alloc) live += tape.requested[event.block];
    if (event.kind == EventKind::free) live -= tape.requested[event.block];
    if (last) peak = std::max(peak, live);
  }
  return peak;
}

TEST(Checkpointing, LowersThePeakAndKeepsTheGradients) {
  TrainRecipe r = recipe();
  r.sequence_length = 2048;
  const Result<TrainRun> plain = run(r);
  r.checkpointing = Checkpointing::full;
  const Result<TrainRun> checkpointed = run(r);
  ASSERT_TRUE(plain && checkpointed);
  EXPECT_LT(peak_of_last_step(checkpointed->tape), peak_of_last_step(plain->tape));
  EXPECT_EQ(checkpointed->statics.gradient_bytes, plain->statics.gradient_bytes);
}

TEST(Checkpointing, LetsGradientsReachAdaptersThroughFrozenEmbeddings) {
  TrainRecipe r = with_lora({"q_proj"});
  r.checkpointing = Checkpointing::full;
  const Result<TrainRun> trained = run(r);
  ASSERT_TRUE(trained);
  EXPECT_EQ(trained->statics.gradient_bytes, 4 * trained->statics.trainable_parameters);
}

}  // namespace
}  // namespace memtape::torch
