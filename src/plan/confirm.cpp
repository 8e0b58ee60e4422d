// SPDX-License-Identifier: Apache-2.0
#include "plan/confirm.h"

#include <algorithm>

#include "framework/train_arguments.h"
#include "report/headline.h"

namespace memtape::plan {

Result<TrainRecipe> Confirmation::recipe(const Reading& reading, const NamedValues& layout) const {
  return reading.read(with_changes(reading.values, layout));
}

Result<Confirmed> Confirmation::all_ranks(const Reading& reading, const NamedValues& layout) const {
  Result<TrainRecipe> asked = recipe(reading, layout);
  if (!asked) return tl::unexpected(asked.error());
  return ask(std::move(*asked));
}

Result<Confirmed> Confirmation::until_too_large(const Reading& reading,
                                                const NamedValues& layout) const {
  Result<TrainRecipe> asked = recipe(reading, layout);
  if (!asked) return tl::unexpected(asked.error());
  return ask(std::move(*asked), true);
}

Result<Confirmed> Confirmation::one_rank(const Reading& reading, const NamedValues& layout,
                                         std::int64_t rank) const {
  Result<TrainRecipe> asked = recipe(reading, layout);
  if (!asked) return tl::unexpected(asked.error());
  asked->layout.rank = rank;
  return ask(std::move(*asked));
}

Result<Confirmed> Confirmation::ask(TrainRecipe recipe, bool until_too_large) const {
  Result<TrainAnswer> answer = predict_train(model_, recipe, device_,
                                             {.largest = 0,
                                              .advise = false,
                                              .fullest_only = true,
                                              .until_too_large = until_too_large,
                                              .workers = workers_});
  if (!answer) return tl::unexpected(answer.error());
  Prediction& p = answer->prediction;
  Confirmed found;
  found.within_limit_bytes = report::needed(p);
  found.peak_device_bytes =
      std::max(report::peak_rank(p).peak_device_bytes, report::before_the_step(p).value_or(0));
  found.headroom_bytes = p.headroom_bytes.value_or(0);
  found.verdict = p.verdict.value_or(VerdictWord::fits);
  found.fits = p.fits.value_or(true);
  found.peak_rank = p.peak_rank;
  found.model = std::move(p.model);
  found.workload = std::move(p.workload);
  found.device = std::move(p.device);
  found.warnings = std::move(p.warnings);
  return found;
}

}  // namespace memtape::plan
