// SPDX-License-Identifier: Apache-2.0
// Options that decide the same thing under two names: one of memtape's and one of a framework's
// (Option::sets). They may be given together as long as they say the same.
#pragma once

#include <span>

#include "option/given.h"
#include "option/option.h"

namespace memtape::option {

/// An error for two options that decide the same and say different things, with both names.
Result<void> agree(const Table& table, std::span<const NamedValue> given);

/// `given` with `changes` at the end, in the place of all that decides the same.
NamedValues with_changes(const Table& table, NamedValues given,
                         std::span<const NamedValue> changes);

}  // namespace memtape::option
