// SPDX-License-Identifier: Apache-2.0
#include "framework/train_arguments.h"

#include <vector>

#include "framework/dialects.h"
#include "framework/transformers/arguments/quantization_config.h"
#include "framework/transformers/arguments/trainer_words.h"
#include "framework/transformers/arguments/training_arguments.h"
#include "model/json_members.h"
#include "option/agreement.h"
#include "workload/train_options.h"

namespace memtape {
namespace {

/// The common options; those that no recipe is told have the choices of the frameworks.
std::vector<TrainOption> common_options() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all;
    for (const Framework* framework : frameworks()) all.push_back(framework->name);
    return all;
  }();
  std::vector<TrainOption> options(train_options().begin(), train_options().end());
  for (TrainOption& option : options) {
    if (option.set) continue;
    if (option.name() == "framework") option.kind = option::Choice{names};
    for (const Framework* framework : frameworks())
      if (const TrainOption* own =
              framework->argument ? framework->argument(option.name()) : nullptr)
        option.kind = own->kind;
  }
  return options;
}

}  // namespace

const option::Table& all_train_options() {
  static const std::vector<TrainOption> options = common_options();
  static const option::Table table = [] {
    option::Table all;
    option::add(std::span<const TrainOption>(options), all);
    option::add(transformers::training_arguments(), all);
    return all;
  }();
  return table;
}

bool is_training_argument(std::string_view name) {
  return transformers::is_training_argument(name);
}

NamedValues with_changes(NamedValues given, std::span<const NamedValue> changes) {
  return option::with_changes(all_train_options(), std::move(given), changes);
}

Result<NamedValues> in_dialect_words(NamedValues given) {
  return transformers::in_trainer_words(std::move(given));
}

std::string qlora_quantization(std::span<const NamedValue> more) {
  return with_members(std::string(transformers::kQloraQuantization), more);
}

}  // namespace memtape
