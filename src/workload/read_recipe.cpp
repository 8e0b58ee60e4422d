// SPDX-License-Identifier: Apache-2.0
#include "workload/read_recipe.h"

namespace memtape {
namespace {

bool says(std::span<const NamedValue> options, std::string_view name) {
  return last_value(options, name) != nullptr;
}

Result<TrainRecipe> starting_recipe(std::span<const NamedValue> options, Frameworks frameworks,
                                    const NamedReleases& releases) {
  TrainRecipe recipe;
  recipe.framework = frameworks.front();
  recipe.release = releases.release;
  recipe.named_releases = releases.named;
  recipe.releases_from = releases.from;
  if (const std::string* named = last_value(options, "framework")) {
    const Result<const Framework*> found = find_framework(*named, frameworks);
    if (!found) return tl::unexpected(found.error());
    recipe.framework = *found;
  }
  if (const auto& image = recipe.framework->image; image && releases.from == kNewestKnown)
    recipe.release.set(image->package, image->version);
  if (recipe.framework->start) recipe.framework->start(options, recipe);
  return recipe;
}

/// An error for an argument, or an optimizer, that another framework alone has.
Result<void> check_of_others(const NamedValue& given, Frameworks frameworks,
                             const Framework& framework) {
  if (given.first == "optimizer" && given.second.ends_with("muon"))
    return unsupported("Muon is not modelled by --framework " + std::string(framework.name),
                       "--optimizer", "pretrain_gpt.py --optimizer muon behind a -- is");
  if (given.first == "gradient-checkpointing" && given.second == "wrapper")
    return unsupported("FSDP's checkpoint_wrapper is modelled under Trainer",
                       "--gradient-checkpointing",
                       "activation_checkpointing of --fsdp_config; full is torch's own");
  for (const Framework* other : frameworks) {
    const std::string it_is = "--framework " + std::string(other->name);
    if (other->argument && other->argument(given.first))
      return bad_input("is one of " + std::string(other->arguments), "--" + given.first,
                       "it needs " + it_is);
    if (given.first == "optimizer" && other->has_optimizer && other->has_optimizer(given.second))
      return unsupported(
          "\"" + given.second + "\" is not modelled by --framework " + std::string(framework.name),
          "--optimizer", it_is + " has it");
  }
  return {};
}

Result<void> apply(const NamedValue& given, Frameworks frameworks, TrainRecipe& recipe) {
  const Framework& framework = *recipe.framework;
  if (const TrainOption* own = framework.argument ? framework.argument(given.first) : nullptr)
    return tell(*own, given.second, recipe);
  if (const Result<void> fine = check_of_others(given, frameworks, framework); !fine) return fine;
  const NamedValue common = framework.in_common_words ? framework.in_common_words(given) : given;
  const TrainOption* option = find(train_options(), common.first);
  return option ? tell(*option, common.second, recipe) : Result<void>();
}

bool says_releases(const NamedValue& option) {
  return option.first == "with" || option.first.ends_with("-version");
}

/// How many GPUs there are, and that the rank asked for is one of them.
Result<void> settle_gpus(std::span<const NamedValue> options, LayoutRecipe& layout,
                         const Framework& framework) {
  const bool is_said = says(options, "gpus");
  const std::int64_t otherwise = framework.experts_follow_tensor_ranks ? layout.tp.value_or(1) : 1;
  if (!is_said) layout.gpus = layout.fewest_gpus(layout.etp.value_or(otherwise));
  if (layout.gpus > kMostGpus && !is_said)
    return bad_input("more than " + std::to_string(kMostGpus) + " GPUs",
                     "--dp x --tp x --pp x --cp", "smaller sizes");
  if (layout.gpus > kMostGpus)
    return option::unusable("gpus", std::to_string(layout.gpus),
                            "at most " + std::to_string(kMostGpus));
  if (layout.rank && *layout.rank >= layout.gpus)
    return option::unusable("rank", std::to_string(*layout.rank),
                            "a rank from 0 to " + std::to_string(layout.gpus - 1) + ", or all");
  return {};
}

/// What no option says wrong by itself.
Result<void> check(const TrainRecipe& recipe) {
  constexpr std::int64_t kMostTokens = std::int64_t{1} << 31;
  if (recipe.sequence_length > kMostTokens / recipe.micro_batch_size)
    return bad_input("more than 2^31 tokens in a micro-batch",
                     "--micro-batch-size x --sequence-length", "a batch that a GPU could hold");
  if (recipe.program.upcasts_trained && recipe.program.trained_layers == 0)
    return bad_input("no layers are named that are trained", "--upcast-trained",
                     "--train-last-layers N, too");
  if (recipe.compile && !recipe.framework->takes.compile)
    return unsupported("compiled steps are modelled for the plain loop", "--compile",
                       "--framework torch");
  return {};
}

}  // namespace

Result<TrainRecipe> train_recipe(std::span<const NamedValue> options, Frameworks frameworks,
                                 const NamedReleases& releases) {
  Result<TrainRecipe> start = starting_recipe(options, frameworks, releases);
  if (!start) return start;
  TrainRecipe recipe = std::move(*start);
  for (const bool of_releases : {true, false})  // which decide what the others mean
    for (const NamedValue& option : options)
      if (says_releases(option) == of_releases)
        if (const Result<void> done = apply(option, frameworks, recipe); !done)
          return tl::unexpected(done.error());
  const Framework& framework = *recipe.framework;
  if (const Result<void> done = settle_gpus(options, recipe.layout, framework); !done)
    return tl::unexpected(done.error());
  if (framework.finish)
    if (const Result<void> done = framework.finish(options, recipe); !done)
      return tl::unexpected(done.error());
  // torch.optim.Adafactor alone prefers its loop: its foreach takes a copy of the parameters.
  if (recipe.optimizer == OptimizerName::adafactor && !recipe.names_optimizer_impl)
    recipe.optimizer_impl = OptimizerImpl::for_loop;
  if (const Result<void> fine = check(recipe); !fine) return tl::unexpected(fine.error());
  if (const Result<void> fine = check_framework_options(options, recipe); !fine)
    return tl::unexpected(fine.error());
  return recipe;
}

}  // namespace memtape
