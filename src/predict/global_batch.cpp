// SPDX-License-Identifier: Apache-2.0
#include "predict/global_batch.h"

#include <algorithm>

#include <fmt/format.h>

#include "framework/megatron/arguments.h"
#include "framework/torch_tp/options.h"

namespace memtape {
namespace {

/// The ranks that see sequences of their own.
Result<std::int64_t> data_ranks(const TrainRecipe& recipe, const Config& config) {
  const LayoutRecipe& layout = recipe.layout;
  switch (recipe.framework) {
    case Framework::torch_pp:
    case Framework::torch_cp: return 1;
    case Framework::torch_tp: {
      const auto options = torch_tp::read_options(config, recipe);
      if (!options) return tl::unexpected(options.error());
      return std::max<std::int64_t>(1, layout.gpus / options->size);
    }
    case Framework::megatron_core: {
      const auto arguments = megatron::read_arguments(config, recipe);
      if (!arguments) return tl::unexpected(arguments.error());
      return arguments->dp;
    }
    default: {
      const std::int64_t model =
          layout.tp.value_or(1) * layout.pp.value_or(1) * layout.cp.value_or(1);
      return std::max<std::int64_t>(1, layout.gpus / model);
    }
  }
}

}  // namespace

Result<TrainRecipe> with_global_batch(TrainRecipe recipe, const Config& config) {
  if (!recipe.global_batch_size) return recipe;
  const auto ranks = data_ranks(recipe, config);
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
