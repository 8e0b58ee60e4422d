// SPDX-License-Identifier: Apache-2.0
// The options of `memtape plan` that `train` does not have.
#pragma once

#include <span>

#include "answer/train_options.h"

namespace memtape::answer {

std::span<const NamedOption> plan_options();
std::span<const NamedOption> plan_serve_options();

/// Whether an option of `train` is one of `plan train`, too: not those that ask something else.
bool is_shared_with_plan(const NamedOption& option);

}  // namespace memtape::answer
