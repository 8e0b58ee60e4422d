// SPDX-License-Identifier: Apache-2.0
// What LLaMA-Factory's preference trainers make of a batch and of its logits (0.9.5,
// train/trainer_utils.py: nested_detach, get_batch_logps).
#pragma once

#include "family/pretrained.h"

namespace memtape::transformers::llama_factory {

/// nested_detach(batch, clone=True)
family::Batch detached_clone(const family::Batch& inputs);

struct Logps {
  ghost::Tensor sums, valid_length;
};

/// The log-probabilities of the labels, summed for each sequence, and the number of labels.
Logps get_batch_logps(const ghost::Tensor& all_logits, const ghost::Tensor& all_labels);

}  // namespace memtape::transformers::llama_factory
