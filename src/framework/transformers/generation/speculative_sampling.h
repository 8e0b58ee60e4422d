// SPDX-License-Identifier: Apache-2.0
// _speculative_sampling of generation/utils.py: candidates are kept with the ratio of the two
// models' probabilities, and the token behind them is drawn.
#pragma once

#include "framework/transformers/generation/candidates.h"

namespace memtape::transformers {

/// The first `matches` candidates and one token more, [1, matches + 1]; `new_logits` are the
/// checking model's, [1, C + 1, V].
ghost::Tensor speculative_sampling(const Candidates& candidates, const ghost::Tensor& new_logits,
                                   std::int64_t matches);

}  // namespace memtape::transformers
