// SPDX-License-Identifier: Apache-2.0
// What generate() does to scores before a token is chosen (generation/logits_process.py), and how
// one is drawn.
#pragma once

#include "framework/transformers/generate.h"
#include "ghost/tensor.h"

namespace memtape::transformers {

/// logits_processor(input_ids, scores), in the order of _get_logits_processor; `scores` themselves
/// where nothing is done to them. Temperature and choices among the best only where tokens are
/// drawn.
ghost::Tensor changed_scores(const GenerateRecipe& recipe, const ghost::Tensor& input_ids,
                             const ghost::Tensor& scores);

/// torch.multinomial(probs, num_samples=1).squeeze(1)
ghost::Tensor draw_one(const ghost::Tensor& probs);

}  // namespace memtape::transformers
