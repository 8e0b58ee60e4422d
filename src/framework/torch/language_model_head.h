// SPDX-License-Identifier: Apache-2.0
// The module that get_output_embeddings() returns: a language model's head. A classifier's score
// layer is not one (EmbeddingAccessMixin of transformers' modeling_utils.py).
#pragma once

#include <string_view>

#include "family/pretrained.h"

namespace memtape::torch {

/// The full name of the head, or nothing.
inline std::string_view language_model_head(const family::PretrainedModel& model) {
  const std::string_view head = model.output_embeddings();
  const bool scores = head == "score" || head == "classifier" || head == "qa_outputs";
  return scores ? std::string_view() : head;
}

}  // namespace memtape::torch
