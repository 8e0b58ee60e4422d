// SPDX-License-Identifier: Apache-2.0
#include "predict/global_batch.h"

#include <fmt/format.h>

#include "framework/dialects.h"

namespace memtape {
Result<TrainRecipe> with_global_batch(TrainRecipe recipe, const Config& config) {
  if (!recipe.global_batch_size) return recipe;
  const auto ranks = dialect_of(recipe).data_ranks(config, recipe);
  if (!ranks) return tl::unexpected(ranks.error());
  const std::int64_t each = recipe.micro_batch_size * *ranks, global = *recipe.global_batch_size;
  if (global % each != 0)
    return bad_input(
        fmt::format("{} sequences do not divide into micro-batches of {} on {} data parallel {}",
                    global, recipe.micro_batch_size, *ranks, *ranks == 1 ? "rank" : "ranks"),
        "--global-batch-size", fmt::format("a multiple of {}", each));
  if (recipe.names_gradient_accumulation && recipe.gradient_accumulation != global / each)
    return bad_input(
        fmt::format("{} sequences are {} micro-batches of {} on {} data parallel {}, not {}",
                    global, global / each, recipe.micro_batch_size, *ranks,
                    *ranks == 1 ? "rank" : "ranks", recipe.gradient_accumulation),
        "--global-batch-size", "leave out one of it and the gradient accumulation");
  recipe.gradient_accumulation = global / each;
  recipe.names_gradient_accumulation = true;
  return recipe;
}

}  // namespace memtape
