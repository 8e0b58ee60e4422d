// SPDX-License-Identifier: Apache-2.0
// Options that decide the same thing under two names: one of memtape's, and one of a framework's
// (Option::sets). They may be given together if they say the same.
#pragma once

#include <span>

#include "option/given.h"
#include "option/option.h"

namespace memtape::option {

/// An error if two options decide the same and say different things. It names both.
Result<void> agree(const Table& table, std::span<const NamedValue> given);

/// `given` with `changes` at its end. These replace everything that decides the same.
NamedValues with_changes(const Table& table, NamedValues given,
                         std::span<const NamedValue> changes);

}  // namespace memtape::option
