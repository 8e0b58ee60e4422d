// SPDX-License-Identifier: Apache-2.0
// All dialects. A training framework is a folder of src/framework and a line of dialects.txt, of
// which the build makes their list.
#pragma once

#include <span>
#include <string>

#include "framework/torch/dialect.h"

namespace memtape {

/// The plain loop is the first one, which is meant if nobody names a framework.
std::span<const Dialect* const> dialects();

/// Their frameworks, as the reader of options takes them.
Frameworks frameworks();
/// The framework that `values` name with --framework, or the first.
Result<const Framework*> framework_named(std::span<const NamedValue> values);

/// The dialect of the recipe's framework.
const Dialect& dialect_of(const TrainRecipe& recipe);
const Dialect& dialect_of(const Framework* framework);

/// The names of those to which `takes` says yes, for hints in errors: "torch, ddp or fsdp2".
std::string names_of_dialects(bool (*takes)(const Dialect& dialect));

}  // namespace memtape
