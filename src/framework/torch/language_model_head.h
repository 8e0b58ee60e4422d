// SPDX-License-Identifier: Apache-2.0
// What get_output_embeddings() gives: a language model's head. A classifier's score is none
// (EmbeddingAccessMixin of transformers' modeling_utils.py).
#pragma once

#include <string_view>

#include "family/pretrained.h"

namespace memtape::torch {

/// Its full name, or nothing.
inline std::string_view language_model_head(const family::PretrainedModel& model) {
  const std::string_view head = model.output_embeddings();
  const bool scores = head == "score" || head == "classifier" || head == "qa_outputs";
  return scores ? std::string_view() : head;
}

}  // namespace memtape::torch
