// SPDX-License-Identifier: Apache-2.0
#include "time/step_time.h"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "time/serve_time.h"
#include "time/train_time.h"

namespace memtape::time {
namespace {

/// How far measured steps lie from estimates nine times of ten, by what is known of the machine
/// (docs/time.md).
constexpr double kKnown = 0.32;
constexpr double kUnmeasured = 0.50;
/// Of another architecture: what cards keep up of their peaks differs by up to 1.43 between those
/// that were measured (kSustained of kernels.cpp), beside 1.5 for what was not.
constexpr double kUnrelated = 1.15;
constexpr double kFirstToken = 2.6;  // nothing says how a load starts
constexpr double kFurtherToken = 0.63;

}  // namespace

std::string_view name(PartKind kind) {
  constexpr std::array<std::string_view, 6> kNames = {"compute",   "message", "bubble",
                                                      "optimizer", "offload", "host"};
  return kNames[static_cast<std::size_t>(kind)];
}

struct StepClock::State {
  ModelShape shape;
  Kernels kernels;
  Collectives collectives;
  TrainClock train;
  ServeClock serve;

  State(ModelShape s, const Machine& m)
      : shape(std::move(s)),
        kernels(m),
        collectives(m),
        train(shape, kernels, collectives),
        serve(shape, kernels, collectives) {}
  std::vector<std::string> assumptions() const {
    if (kernels.measured()) return {};
    return {fmt::format("nobody published times of {}'s kernels: those of {} over its data sheet",
                        kernels.machine().gpu, kernels.witness())};
  }
};

StepClock::StepClock(ModelShape shape, Machine machine)
    : state_(std::make_unique<State>(std::move(shape), machine)) {}
StepClock::~StepClock() = default;
StepClock::StepClock(StepClock&&) noexcept = default;
StepClock& StepClock::operator=(StepClock&&) noexcept = default;

const ModelShape& StepClock::shape() const { return state_->shape; }
const Machine& StepClock::machine() const { return state_->kernels.machine(); }

StepTime StepClock::train(const TrainSetup& setup, bool timeline) const {
  StepTime time = state_->train.step(setup, timeline, true);
  const Kernels& kernels = state_->kernels;
  const double mid = time.seconds.mid;
  time.seconds = Seconds::within(mid, kernels.measured()  ? kKnown
                                      : kernels.related() ? kUnmeasured
                                                          : kUnrelated);
  time.assumptions = state_->assumptions();
  const auto tokens =
      static_cast<double>(setup.micro_batches() * setup.micro_batch * setup.dp() * setup.sequence);
  time.tokens_per_second = tokens / mid;
  // Frozen weights have no gradient, a third of the products.
  const double share = setup.lora_rank > 0 ? 2.0 / 3.0 : 1.0;
  time.model_flops = share * model_flops(shape(), tokens, static_cast<double>(setup.sequence));
  const double peak = machine().peak(setup.compute) > 0 ? machine().peak(setup.compute)
                                                        : machine().peak(Compute::bf16);
  if (peak > 0) time.mfu = time.model_flops / mid / static_cast<double>(setup.gpus) / peak;
  return time;
}

double StepClock::train_seconds(const TrainSetup& setup) const {
  return state_->train.step(setup, false, false).seconds.mid;
}

ServeTime StepClock::serve(const ServeSetup& setup) const {
  ServeTime time = state_->serve.time(setup);
  const double wider = state_->kernels.measured() ? 0 : kUnmeasured - kKnown;
  time.ttft = Seconds::within(time.ttft.mid, kFirstToken + wider);
  time.tpot = Seconds::within(time.tpot.mid, kFurtherToken + wider);
  time.assumptions = state_->assumptions();
  return time;
}

}  // namespace memtape::time
