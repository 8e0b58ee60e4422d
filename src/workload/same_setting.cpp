// SPDX-License-Identifier: Apache-2.0
#include "workload/same_setting.h"

#include <algorithm>
#include <array>

#include "workload/dialect_words.h"

namespace memtape {
namespace {

using Names = std::array<std::string_view, 3>;  ///< "" where there are fewer

/// What `own` and `theirs` set, and whether two recipes, each told by one of them, agree on it.
struct SameSetting {
  Names own, theirs;
  bool (*agree)(const TrainRecipe&, const TrainRecipe&);
};

bool same_trainer_optim(const TrainRecipe& a, const TrainRecipe& b) {
  return a.trainer.optim == b.trainer.optim;
}

bool checkpoints_alike(const TrainRecipe& a, const TrainRecipe& b) {
  return (a.checkpointing == Checkpointing::none) == (b.checkpointing == Checkpointing::none);
}

/// --precision bf16 holds the parameters in bf16, as --bf16, which is autocast, does not.
bool same_precision(const TrainRecipe& a, const TrainRecipe& b) {
  return a.precision == b.precision && a.weights == b.weights;
}

constexpr auto kSettings = std::to_array<SameSetting>({
    {{"micro-batch-size"},
     {"per_device_train_batch_size"},
     [](const auto& a, const auto& b) { return a.micro_batch_size == b.micro_batch_size; }},
    {{"gradient-accumulation"},
     {"gradient_accumulation_steps"},
     [](const auto& a, const auto& b) {
       return a.gradient_accumulation == b.gradient_accumulation;
     }},
    {{"gradient-checkpointing"}, {"gradient_checkpointing"}, checkpoints_alike},
    {{"optimizer", "optimizer-impl"}, {"optim"}, same_trainer_optim},
    {{"max-grad-norm"},
     {"max_grad_norm"},
     [](const auto& a, const auto& b) {
       return a.max_grad_norm.value_or(0.0) == b.max_grad_norm.value_or(0.0);
     }},
    {{"precision"}, {"bf16", "fp16"}, same_precision},
    {{"lora-rank", "lora-targets", "lora-dropout"}, {"peft"}, nullptr},
    {{"quantize"}, {"quantization"}, nullptr},
});

bool is_one_of(std::string_view option, const Names& names) {
  return !option.empty() && std::ranges::find(names, option) != names.end();
}

std::vector<NamedValue> chosen(std::span<const NamedValue> options, const Names& names) {
  std::vector<NamedValue> found;
  std::ranges::copy_if(options, std::back_inserter(found),
                       [&](const NamedValue& o) { return is_one_of(o.first, names); });
  return found;
}

/// The recipe of those options alone; the framework says what they mean.
Result<TrainRecipe> recipe_of(std::span<const NamedValue> options, std::vector<NamedValue> some,
                              Frameworks frameworks) {
  for (const NamedValue& option : options)
    if (option.first == "framework" || option.first == "trainer") some.insert(some.begin(), option);
  const auto words = in_dialect_words(std::move(some));
  if (!words) return tl::unexpected(words.error());
  return train_recipe(*words, frameworks);
}

std::string as_typed(const NamedValue& option) {
  return "--" + option.first + (option.second.empty() ? "" : " " + option.second);
}

/// Two LoraConfigs or quantizations are never laid side by side: one of them has to go.
Result<bool> agree(const SameSetting& setting, std::span<const NamedValue> options,
                   const std::vector<NamedValue>& own, const std::vector<NamedValue>& theirs,
                   Frameworks frameworks) {
  if (!setting.agree) return false;
  const auto a = recipe_of(options, own, frameworks), b = recipe_of(options, theirs, frameworks);
  if (!a || !b) return true;  // the one that cannot be read is refused by itself
  return setting.agree(*a, *b);
}

/// The option itself, and the names that the other side has for what it sets.
std::vector<std::string_view> names_of_same(std::string_view option) {
  std::vector<std::string_view> names{option};
  for (const SameSetting& setting : kSettings) {
    const bool is_own = is_one_of(option, setting.own);
    if (!is_own && !is_one_of(option, setting.theirs)) continue;
    std::ranges::copy(is_own ? setting.theirs : setting.own, std::back_inserter(names));
  }
  return names;
}

}  // namespace

Result<void> check_said_once(std::span<const NamedValue> options, Frameworks frameworks) {
  for (const SameSetting& setting : kSettings) {
    const std::vector<NamedValue> own = chosen(options, setting.own),
                                  theirs = chosen(options, setting.theirs);
    if (own.empty() || theirs.empty()) continue;
    const auto same = agree(setting, options, own, theirs, frameworks);
    if (!same) return tl::unexpected(same.error());
    if (!*same)
      return bad_input("sets what " + as_typed(theirs.front()) + " sets to another value",
                       as_typed(own.front()), "leave out one of them");
  }
  return {};
}

std::vector<NamedValue> with_changes(std::vector<NamedValue> options,
                                     std::span<const NamedValue> changes) {
  for (const NamedValue& change : changes) {
    const std::vector<std::string_view> same = names_of_same(change.first);
    std::erase_if(options, [&](const NamedValue& o) {
      const bool is_changed_too = std::ranges::find(changes, o) != changes.end();
      return !is_changed_too && std::ranges::find(same, o.first) != same.end();
    });
    if (std::ranges::find(options, change) == options.end()) options.push_back(change);
  }
  return options;
}

}  // namespace memtape
