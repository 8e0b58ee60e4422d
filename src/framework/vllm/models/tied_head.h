// SPDX-License-Identifier: Apache-2.0
// Whether a model's head is its embedding: vLLM's models ask transformers' configuration for
// tie_word_embeddings, whose class decides where the file is silent.
#pragma once

#include "family/registry.h"

namespace memtape::vllm {

inline bool ties_head(const Config& config) {
  const family::FamilyFacts* const facts = family::text_facts_of(config);
  return config.boolean("tie_word_embeddings", facts && facts->ties_head == family::Known::yes);
}

}  // namespace memtape::vllm
