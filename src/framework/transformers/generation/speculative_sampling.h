// SPDX-License-Identifier: Apache-2.0
// _speculative_sampling of generation/utils.py: candidates are kept with a probability that is the
// ratio of the two models' probabilities, and the token after them is drawn.
#pragma once

#include "framework/transformers/generation/candidates.h"

namespace memtape::transformers {

/// The first `matches` candidates and one more token, [1, matches + 1]. `new_logits` are those of
/// the checking model, [1, C + 1, V].
ghost::Tensor speculative_sampling(const Candidates& candidates, const ghost::Tensor& new_logits,
                                   std::int64_t matches);

}  // namespace memtape::transformers
