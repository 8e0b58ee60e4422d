// SPDX-License-Identifier: Apache-2.0
// Whether the head of a model is its embedding. vLLM's models ask transformers' configuration for
// tie_word_embeddings; if the file does not say it, the configuration's class decides.
#pragma once

#include "family/registry.h"

namespace memtape::vllm {

inline bool ties_head(const Config& config) {
  const family::FamilyFacts* const facts = family::text_facts_of(config);
  return config.boolean("tie_word_embeddings", facts && facts->ties_head == family::Known::yes);
}

}  // namespace memtape::vllm
