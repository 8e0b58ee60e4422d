// SPDX-License-Identifier: Apache-2.0
#include "plan/published.h"

namespace memtape::plan {

bool PublishedLayout::is_for(const Job& job) const {
  const ModelFacts& facts = job.facts;
  return job.recipe.framework->name == framework && job.device.major == capability &&
         facts.layers == layers && facts.hidden == hidden && facts.experts == experts &&
         job.sequence == sequence && job.gpus % (tp * cp * pp) == 0;
}

bool PublishedLayout::is_of(const Candidate& c) const {
  const auto is = [](std::int64_t published, std::int64_t size) {
    return published == 0 || published == size;
  };
  const Sizes& s = c.sizes;
  return c.framework->name == framework && c.method == Method::full && is(tp, s.tp) &&
         is(cp, s.cp) && is(pp, s.pp) && is(vpp, s.vpp) && is(ep, s.ep) &&
         is(micro_batch, s.micro_batch);
}

}  // namespace memtape::plan
