// SPDX-License-Identifier: Apache-2.0
#include "plan/step_clock.h"

#include <algorithm>

#include <fmt/format.h>

#include "framework/dialects.h"

namespace memtape::plan {
namespace {

time::Recompute recompute_of(const Candidate& c) {
  if (c.checkpointing == Checkpointing::none) return {};
  if (c.checkpointing != Checkpointing::selective)
    return {.kind = time::Recompute::Kind::full, .layers = c.layers_again};
  if (!c.modules.empty()) {
    time::Recompute parts{.kind = time::Recompute::Kind::selective};
    parts.add_modules(c.modules);
    return parts;
  }
  return dialect_of(c.framework).time.selective;
}

}  // namespace

time::TrainSetup PlanClock::setup(const Candidate& c) const {
  const Sizes& s = c.sizes;
  time::TrainSetup setup = like_;
  setup.gpus = s.gpus;
  setup.tp = s.tp, setup.cp = s.cp, setup.pp = s.pp, setup.vpp = s.vpp;
  setup.ep = s.ep, setup.etp = job_.facts.experts > 0 ? s.etp : s.tp;
  setup.sequence_parallel = like_.sequence_parallel || s.tp > 1;
  setup.micro_batch = s.micro_batch;
  setup.global_batch = job_.global_batch;
  setup.sequence = job_.sequence;
  setup.zero = s.zero;
  const bool cuts = c.sharding == Sharding::fsdp || c.sharding == Sharding::grads_kept ||
                    c.sharding == Sharding::hybrid || c.sharding == Sharding::reduced_each;
  if (cuts) setup.zero = 3;
  setup.reshard_after_forward = c.sharding != Sharding::grads_kept;
  setup.reduces_last = like_.reduces_last && c.sharding != Sharding::reduced_each;
  setup.shard_ranks = c.sharding == Sharding::hybrid ? job_.per_node : 0;
  setup.recompute = recompute_of(c);
  setup.offload = c.offload == Offload::none        ? time::OptimizerOffload::none
                  : c.offload == Offload::optimizer ? time::OptimizerOffload::optimizer
                                                    : time::OptimizerOffload::all;
  if (c.method != Method::full && setup.lora_rank == 0) setup.lora_rank = 16;
  setup.quantized_base = like_.quantized_base || c.method == Method::qlora;
  return setup;
}

std::unique_ptr<Clock> PlanClock::another() const {
  auto clock = std::make_shared<const time::StepClock>(clock_->shape(), clock_->machine());
  return std::make_unique<PlanClock>(job_, std::move(clock), like_);
}

Timing PlanClock::timing(const Candidate& candidate) const {
  const time::StepTime t = clock_->train(setup(candidate));
  Timing timing;
  timing.seconds = {t.seconds.low, t.seconds.mid, t.seconds.high};
  timing.tokens_per_second = t.tokens_per_second;
  if (t.mfu > 0) timing.mfu = t.mfu;
  for (const time::TimePart& part : t.parts)
    timing.parts.push_back({fmt::format("{}: {}", time::name(part.kind), part.what), part.seconds});
  timing.assumptions = t.assumptions;
  return timing;
}

std::vector<PlanStage> PlanClock::stages(const Candidate& candidate) const {
  if (candidate.sizes.pp <= 1) return {};
  std::vector<PlanStage> stages(static_cast<std::size_t>(candidate.sizes.pp));
  for (const time::PipelineSlot& slot : clock_->train(setup(candidate), true).timeline)
    stages.at(static_cast<std::size_t>(slot.stage))
        .passes.push_back({.is_backward = slot.kind != 'F', .start = slot.start, .end = slot.end});
  for (PlanStage& stage : stages) std::ranges::sort(stage.passes, {}, &PlanStage::Pass::start);
  return stages;
}

}  // namespace memtape::plan
