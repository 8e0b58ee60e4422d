// SPDX-License-Identifier: Apache-2.0
#include "plan/space.h"

#include <algorithm>

#include <fmt/format.h>

#include "framework/dialects.h"
#include "plan/spaces.h"

namespace memtape::plan {
namespace {

/// The first one is what the framework does if it is not told.
std::string_view selection(const Framework* framework, std::int64_t number) {
  const auto& selections = dialect_of(framework).time.selections;
  const auto at = static_cast<std::size_t>(number);
  return at > 0 && at <= selections.size() ? selections[at - 1] : std::string_view();
}

void put(Candidate& c, Axis axis, std::int64_t value) {
  Sizes& s = c.sizes;
  switch (axis) {
    case Axis::tp: s.tp = value; break;
    case Axis::cp: s.cp = value; break;
    case Axis::pp: s.pp = value; break;
    case Axis::vpp: s.vpp = value; break;
    case Axis::ep: s.ep = value; break;
    case Axis::etp: s.etp = value; break;
    case Axis::dp: s.dp = value; break;
    case Axis::zero: s.zero = value; break;
    case Axis::micro_batch: s.micro_batch = value; break;
    case Axis::checkpointing: c.checkpointing = static_cast<Checkpointing>(value); break;
    case Axis::method: c.method = static_cast<Method>(value); break;
    case Axis::sharding: c.sharding = static_cast<Sharding>(value); break;
    case Axis::offload: c.offload = static_cast<Offload>(value); break;
    case Axis::optim: c.optim = static_cast<Optim>(value); break;
    case Axis::modules: c.modules = selection(c.framework, value); break;
    case Axis::layers: c.layers_again = value; break;
  }
}

class Enumeration {
 public:
  Enumeration(const Space& space, const Job& job) : space_(space), job_(job) {}

  Points run() {
    Candidate start;
    start.framework = job_.recipe.framework;
    start.sizes.gpus = job_.gpus;
    go(start, 0);
    return std::move(points_);
  }

 private:
  void go(const Candidate& so_far, std::size_t depth) {
    if (depth == space_.axes().size()) {
      points_.all.push_back(so_far);
      return;
    }
    const Axis axis = space_.axes()[depth];
    const std::vector<std::int64_t>* pinned = job_.pins.of(axis);
    const std::vector<std::int64_t> tried = pinned ? *pinned : space_.values(axis, so_far);
    if (tried.empty()) refused(depth, fmt::format("no --{} is possible", option_of(axis)));
    for (const std::int64_t value : tried) {
      Candidate with = so_far;
      put(with, axis, value);
      settle(with);
      if (std::string why = space_.refuses(axis, with); !why.empty())
        refused(depth, std::move(why));
      else
        go(with, depth + 1);
    }
  }

  /// The data ranks and micro-batches that follow from the rest.
  void settle(Candidate& c) const {
    Sizes& s = c.sizes;
    if (!job_.pins.of(Axis::dp)) s.dp = std::max<std::int64_t>(1, s.gpus / (s.tp * s.cp * s.pp));
    s.micro_batches = std::max<std::int64_t>(1, job_.global_batch / (s.micro_batch * s.dp));
  }

  void refused(std::size_t depth, std::string why) {
    if (!points_.deepest.empty() && depth <= points_.depth) return;
    points_.deepest = std::move(why);
    points_.depth = depth;
  }

  const Space& space_;
  const Job& job_;
  Points points_;
};

}  // namespace

bool Job::says(std::string_view option) const {
  return std::ranges::find(said, option, &NamedValue::first) != said.end();
}

Points points_of(const Space& space, const Job& job) { return Enumeration(space, job).run(); }

std::unique_ptr<Space> space_of(const Job& job) {
  switch (dialect_of(job.recipe).space) {
    case PlanSpace::megatron: return megatron_space(job);
    case PlanSpace::data_parallel: return data_parallel_space(job);
    case PlanSpace::trainer: return trainer_space(job);
    case PlanSpace::torchtitan: return torchtitan_space(job);
    case PlanSpace::none: break;
  }
  return nullptr;
}

std::vector<std::int64_t> divisors(std::int64_t whole, std::int64_t most) {
  std::vector<std::int64_t> found;
  for (std::int64_t n = 1; n <= std::min(whole, most); ++n)
    if (whole % n == 0) found.push_back(n);
  return found;
}

std::vector<std::int64_t> micro_batches(const Job& job, const Candidate& so_far,
                                        std::int64_t most) {
  const std::int64_t each = job.global_batch / so_far.sizes.dp;
  if (each * so_far.sizes.dp != job.global_batch || each == 0) return {1};  // refused with a reason
  return divisors(each, most);
}

std::string refuses_batch(const Job& job, const Candidate& with) {
  const std::int64_t each = with.sizes.micro_batch * with.sizes.dp;
  if (job.global_batch % each == 0) return {};
  return fmt::format(
      "--global-batch-size {} does not divide into micro-batches of {} (--micro-batch-size) on {} "
      "data parallel ranks: a multiple of {} would",
      job.global_batch, with.sizes.micro_batch, with.sizes.dp, each);
}

}  // namespace memtape::plan
