// SPDX-License-Identifier: Apache-2.0
// LabelSmoother of transformers' trainer_pt_utils.py: cross entropy mixed with the mean over all
// classes. It is computed outside of the model from the model's logits.
#pragma once

#include "ghost/tensor.h"

namespace memtape::transformers {

/// The loss of logits [B, S, V] and labels [B, S], which decoders shift by one. It is divided by
/// num_items_in_batch or, without that, by the number of labels that are not padding.
ghost::Tensor label_smoother(const ghost::Tensor& logits, const ghost::Tensor& labels,
                             const ghost::Tensor& num_items_in_batch, bool shift_labels);

}  // namespace memtape::transformers
