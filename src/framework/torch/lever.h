// SPDX-License-Identifier: Apache-2.0
// Lever: a change of options by which a step needs less memory, and its cost. predict/levers tries
// the levers that most frameworks have, in the words that each framework has for them here.
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
  bool is_free = false;  ///< kept for the next lever even if it changes nothing on its own
};

/// What it costs that gradients do not wait, whole, for a step's last micro-batch.
inline constexpr std::string_view kReducesEach =
    "gradients are reduced in every micro-batch, which takes time on the network";

/// Offers --optimizer-impl fused.
std::vector<Lever> fused_by_torch(const TrainRecipe& recipe);
/// Offers --lora-rank and --lora-targets if there are no adapters.
std::vector<Lever> adapters_by_rank(const TrainRecipe& recipe);

/// A framework's words for the levers that most frameworks have, and its own levers. If a function
/// is null, the framework has no such lever.
struct LeverWords {
  std::string_view micro_batch = "micro-batch-size";
  std::string_view accumulation = "gradient-accumulation";
  std::pair<std::string_view, std::string_view> checkpointing{"gradient-checkpointing", "full"};
  std::string_view fused_attention = "sdpa";
  /// --init-device meta, with which a GPU never holds more than a shard.
  bool cuts_unmade_models = false;
  /// Levers by which ranks share what each would hold whole.
  std::vector<Lever> (*sharing)(const TrainRecipe& recipe) = nullptr;
  /// The same update of torch's AdamW by one kernel, if it is not fused already.
  std::vector<Lever> (*fused_optimizer)(const TrainRecipe& recipe) = fused_by_torch;
  std::vector<Lever> (*smaller_states)(const TrainRecipe& recipe) = nullptr;
  std::vector<Lever> (*adapters)(const TrainRecipe& recipe) = adapters_by_rank;
};

}  // namespace memtape
