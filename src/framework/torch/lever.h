// SPDX-License-Identifier: Apache-2.0
// Lever: a change of options by which a step needs less memory, and what it costs. What most
// frameworks have is pulled by predict/levers, in the words that a framework has for it here.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "option/given.h"

namespace memtape {

struct TrainRecipe;

struct Lever {
  std::vector<NamedValue> changes;
  std::string cost;
  bool is_free = false;  ///< kept for the next even where it alone changes nothing
};

/// The words of a framework for the levers that most of them have, and its own levers. Null
/// functions: it has none of the kind.
struct LeverWords {
  std::string_view micro_batch = "micro-batch-size";
  std::string_view accumulation = "gradient-accumulation";
  std::pair<std::string_view, std::string_view> checkpointing{"gradient-checkpointing", "full"};
  std::string_view fused_attention = "sdpa";
  bool cuts_unmade_models = false;  ///< --init-device meta: a shard is all that a GPU ever holds
  /// What costs nothing and is shared out among ranks.
  std::vector<Lever> (*sharing)(const TrainRecipe& recipe) = nullptr;
  /// The same update of torch's AdamW by one kernel, where it is not that already.
  std::vector<Lever> (*fused_optimizer)(const TrainRecipe& recipe) = nullptr;
  std::vector<Lever> (*smaller_states)(const TrainRecipe& recipe) = nullptr;
  std::vector<Lever> (*adapters)(const TrainRecipe& recipe) = nullptr;
};

/// --optimizer-impl fused.
std::vector<Lever> fused_by_torch(const TrainRecipe& recipe);
/// --lora-rank and --lora-targets, where there are no adapters.
std::vector<Lever> adapters_by_rank(const TrainRecipe& recipe);

}  // namespace memtape
