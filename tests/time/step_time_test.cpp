// SPDX-License-Identifier: Apache-2.0
#include "time/step_time.h"

#include <gtest/gtest.h>

#include "model/catalog.h"
#include "time/train_time.h"

namespace memtape::time {
namespace {

StepClock clock_of(std::string_view model, std::string_view gpu) {
  const CatalogEntry* entry = find_model(model);
  return StepClock(*model_shape(*Config::parse(entry->config, std::string(entry->id))),
                   *machine_of(*find_gpu(gpu)));
}

TrainSetup setup(std::int64_t gpus) {
  TrainSetup s;
  s.gpus = gpus;
  s.global_batch = 2 * gpus;
  s.sequence = 4096;
  s.zero = 1;
  return s;
}

TEST(StepTime, PartsAddUpToTheStep) {
  const StepClock clock = clock_of("meta-llama/Llama-3.1-70B", "h100-80gb");
  for (const std::int64_t pp : {1, 4})
    for (const std::int64_t tp : {1, 8}) {
      TrainSetup s = setup(64);
      s.tp = tp, s.pp = pp, s.global_batch = 256, s.sequence_parallel = true;
      s.recompute.kind = Recompute::Kind::full;
      const StepTime t = clock.train(s);
      double sum = 0;
      for (const TimePart& part : t.parts) sum += part.seconds;
      EXPECT_NEAR(sum, t.seconds.mid, 0.02 * t.seconds.mid) << pp << " " << tp;
      EXPECT_DOUBLE_EQ(clock.train_seconds(s), t.seconds.mid);
      EXPECT_LT(t.seconds.low, t.seconds.mid);
      EXPECT_GT(t.seconds.high, t.seconds.mid);
    }
}

TEST(StepTime, RecomputationCostsAForward) {
  const StepClock clock = clock_of("meta-llama/Llama-3.1-8B", "h100-80gb");
  TrainSetup s = setup(8);
  const double plain = clock.train_seconds(s);
  s.recompute.kind = Recompute::Kind::full;
  const double again = clock.train_seconds(s);
  EXPECT_GT(again, 1.2 * plain);
  EXPECT_LT(again, 1.4 * plain);
}

TEST(StepTime, MoreGpusForTheSameBatchAreFasterAndNoCheaper) {
  const StepClock clock = clock_of("meta-llama/Llama-3.1-8B", "h100-80gb");
  double before = 1e9, cost_before = 0;
  for (const std::int64_t gpus : {8, 16, 32, 64}) {
    TrainSetup s = setup(gpus);
    s.global_batch = 512;
    const double t = clock.train_seconds(s);
    EXPECT_LT(t, before);
    EXPECT_GE(t * static_cast<double>(gpus), cost_before * 0.99);
    before = t;
    cost_before = t * static_cast<double>(gpus);
  }
}

TEST(StepTime, ASlowerNetworkIsNeverFaster) {
  const CatalogEntry* entry = find_model("meta-llama/Llama-3.1-8B");
  const ModelShape shape = *model_shape(*Config::parse(entry->config, "config"));
  double before = 0;
  for (const double network : {400.0, 50.0, 12.5, 1.0}) {
    MachineOptions options;
    options.network_gb_s = network;
    const StepClock clock(shape, *machine_of(*find_gpu("h100-80gb"), options));
    TrainSetup s = setup(64);
    s.zero = 3;
    const double t = clock.train_seconds(s);
    EXPECT_GE(t, before);
    before = t;
  }
}

TEST(StepTime, RecomputationThatKeepsProductsOrStopsEarlyIsFaster) {
  const StepClock clock = clock_of("meta-llama/Llama-3.1-8B", "h100-80gb");
  TrainSetup s = setup(8);
  const double nothing = clock.train_seconds(s);
  s.recompute.kind = Recompute::Kind::full;
  double before = clock.train_seconds(s);
  for (bool Recompute::* kept : {&Recompute::stops_early, &Recompute::keeps_qkv,
                                 &Recompute::keeps_out, &Recompute::keeps_mlp}) {
    s.recompute.*kept = true;
    const double t = clock.train_seconds(s);
    EXPECT_LT(t, before);
    EXPECT_GT(t, nothing);
    before = t;
  }
}

TEST(StepTime, ModelFlopsAreSixTimesParametersAndTokens) {
  const StepClock clock = clock_of("meta-llama/Llama-3.1-8B", "h100-80gb");
  const double flops = model_flops(clock.shape(), 1e6, 128);
  EXPECT_NEAR(flops / (6 * 7.5e9 * 1e6), 1, 0.03);
}

TEST(StepTime, ServersAnswerMoreSlowlyUnderLoad) {
  const StepClock clock = clock_of("meta-llama/Llama-3.1-70B", "h200-141gb");
  double ttft = 0, tpot = 0, tokens = 0;
  for (const std::int64_t users : {1, 8, 64}) {
    ServeSetup s;
    s.tp = 4, s.concurrency = users, s.output_tokens = 512;
    const ServeTime t = clock.serve(s);
    EXPECT_GE(t.ttft.mid, ttft);
    EXPECT_GE(t.tpot.mid, tpot);
    EXPECT_GT(t.tokens_per_second, tokens);
    ttft = t.ttft.mid, tpot = t.tpot.mid, tokens = t.tokens_per_second;
  }
}

TEST(StepTime, ATimelineHasEveryMicroBatch) {
  const StepClock clock = clock_of("meta-llama/Llama-3.1-8B", "h100-80gb");
  TrainSetup s = setup(8);
  s.pp = 4, s.global_batch = 16;
  EXPECT_EQ(clock.train(s, true).timeline.size(), 4U * 8 * 2);
}

}  // namespace
}  // namespace memtape::time
