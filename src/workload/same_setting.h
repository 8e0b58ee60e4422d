// SPDX-License-Identifier: Apache-2.0
// Options that set the same thing under two names: memtape's own and that of a framework.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "workload/train_options.h"

namespace memtape {

/// An error for two options that set the same thing to different values, with both names.
Result<void> check_said_once(std::span<const NamedValue> options, Frameworks frameworks);

/// `options` with `changes`, at the end, in the place of all that set the same.
std::vector<NamedValue> with_changes(std::vector<NamedValue> options,
                                     std::span<const NamedValue> changes);

}  // namespace memtape
