// SPDX-License-Identifier: Apache-2.0
// The registry: all families, by the model_type of their configuration. The build makes it of the
// definitions of FamilyFacts in models/ (scripts/embed_data.py), each type once, in alphabetical
// order.
#pragma once

#include <span>

#include "base/result.h"
#include "family/facts.h"
#include "release/release.h"

namespace memtape::family {

std::span<const FamilyFacts* const> families();

/// The facts of the type that a configuration names; null where that is no family's.
const FamilyFacts* facts_of(const Config& config);

/// The same of the language model: of its text_config, where there is one that names a type.
const FamilyFacts* text_facts_of(const Config& config);

/// The family for a task, or an Error that names the nearest.
Result<const FamilyFacts*> find_family(const Config& config, Task task);

/// Its code is the repository's own (trust_remote_code): this release of transformers has none.
bool lies_on_the_hub(const FamilyFacts& facts, const Release& release);

/// Fails where the release of transformers has no such family yet.
Result<void> check_is_there(const FamilyFacts& facts, const Release& release);

}  // namespace memtape::family
