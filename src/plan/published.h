// SPDX-License-Identifier: Apache-2.0
// Layouts that were published for a model on a number of GPUs, with their sources: what people who
// know the model expect a search to find, or to say why not. The rows are generated from
// data/published_layouts.tsv (scripts/embed_data.py).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "plan/space.h"

namespace memtape::plan {

struct PublishedLayout {
  std::string_view where;  ///< "As Megatron-Bridge's recipe for Llama 3 70B on 64 H100"
  std::string_view framework;
  std::string_view model;                            ///< in the catalog
  int capability = 9;                                ///< the major one of its GPUs
  std::int64_t layers = 1, hidden = 1, experts = 0;  ///< of the model
  std::int64_t gpus = 1, sequence = 1;
  /// Sizes of 0 were left open.
  std::int64_t tp = 1, cp = 1, pp = 1, vpp = 1, ep = 0, micro_batch = 0;

  /// Whether it was published for what is trained. More data parallel ranks or fewer leave a layout
  /// as it is.
  bool is_for(const Job& job) const;
  bool is_of(const Candidate& candidate) const;
};

std::span<const PublishedLayout> published_layouts();

}  // namespace memtape::plan
