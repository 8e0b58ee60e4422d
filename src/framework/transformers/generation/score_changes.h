// SPDX-License-Identifier: Apache-2.0
// What generate() does to scores before it chooses a token (generation/logits_process.py), and how
// it draws one.
#pragma once

#include "framework/transformers/generate.h"
#include "ghost/tensor.h"

namespace memtape::transformers {

/// logits_processor(input_ids, scores), in the order of _get_logits_processor. It returns `scores`
/// themselves if nothing is done to them. Temperature and choices among the best apply only if
/// tokens are drawn.
ghost::Tensor changed_scores(const GenerateRecipe& recipe, const ghost::Tensor& input_ids,
                             const ghost::Tensor& scores);

/// torch.multinomial(probs, num_samples=1).squeeze(1)
ghost::Tensor draw_one(const ghost::Tensor& probs);

}  // namespace memtape::transformers
