// SPDX-License-Identifier: Apache-2.0
#include "plan/expected.h"

#include <algorithm>
#include <optional>

#include "plan/published.h"

namespace memtape::plan {
namespace {

void add_published(const std::vector<Field>& fields, std::vector<Expected>& all) {
  for (const Field& field : fields) {
    const Job& job = *field.job;
    std::optional<PublishedLayout> nearest;
    const auto distance = [&job](const PublishedLayout& one) {
      return static_cast<double>(std::max(one.gpus, job.gpus)) /
             static_cast<double>(std::min(one.gpus, job.gpus));
    };
    for (const PublishedLayout& one : published_layouts())
      if (one.is_for(job) && (!nearest || distance(one) < distance(*nearest))) nearest = one;
    if (!nearest) continue;
    all.push_back({nearest->where, [layout = *nearest, gpus = job.gpus](const Candidate& c) {
                     return c.sizes.gpus == gpus && layout.is_of(c);
                   }});
  }
}

}  // namespace

std::vector<Expected> expected_layouts(const std::vector<Field>& fields, bool explains) {
  std::vector<Expected> all{
      {"Without a pipeline", [](const Candidate& c) { return c.sizes.pp == 1; }},
      {"Without recomputation",
       [](const Candidate& c) { return c.checkpointing == Checkpointing::none; }},
      {"With ZeRO 3", [](const Candidate& c) {
         return c.sizes.zero == 3 || c.sharding == Sharding::fsdp ||
                c.sharding == Sharding::reduced_each;
       }}};
  if (explains) add_published(fields, all);
  return all;
}

}  // namespace memtape::plan
