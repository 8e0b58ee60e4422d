// SPDX-License-Identifier: Apache-2.0
// The dialects that there are: a training framework is a folder of src/framework and a row of
// dialects.cpp.
#pragma once

#include <span>
#include <string>

#include "framework/torch/dialect.h"

namespace memtape {

/// The plain loop first, which is meant where nobody names a framework.
std::span<const Dialect* const> dialects();

/// Their frameworks, as the reading of options takes them.
Frameworks frameworks();

/// The dialect of the recipe's framework.
const Dialect& dialect_of(const TrainRecipe& recipe);
const Dialect& dialect_of(const Framework* framework);

/// "torch, ddp or fsdp2": those that `takes` says yes to, for hints of errors.
std::string names_of_dialects(bool (*takes)(const Dialect& dialect));

}  // namespace memtape
