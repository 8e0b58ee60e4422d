// SPDX-License-Identifier: Apache-2.0
#include "framework/train_arguments.h"

#include "framework/transformers/arguments/quantization_config.h"
#include "framework/transformers/arguments/trainer_words.h"
#include "framework/transformers/arguments/training_arguments.h"
#include "option/agreement.h"
#include "workload/train_options.h"

namespace memtape {

const option::Table& all_train_options() {
  static const option::Table table = [] {
    option::Table all;
    option::add(train_options(), all);
    option::add(transformers::training_arguments(), all);
    return all;
  }();
  return table;
}

bool is_training_argument(std::string_view name) {
  return transformers::is_training_argument(name);
}

Result<void> check_said_once(std::span<const NamedValue> given) {
  return option::agree(all_train_options(), given);
}

NamedValues with_changes(NamedValues given, std::span<const NamedValue> changes) {
  return option::with_changes(all_train_options(), std::move(given), changes);
}

Result<NamedValues> with_presets(NamedValues given) {
  return transformers::with_presets(std::move(given));
}

Result<NamedValues> in_dialect_words(NamedValues given) {
  return transformers::in_trainer_words(std::move(given));
}

std::string qlora_quantization(std::span<const NamedValue> more) {
  return with_members(std::string(transformers::kQloraQuantization), more);
}

std::string with_members(const std::string& object, std::span<const NamedValue> members) {
  return transformers::with_members(object, members);
}

}  // namespace memtape
