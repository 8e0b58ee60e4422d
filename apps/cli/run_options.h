// SPDX-License-Identifier: Apache-2.0
// The options of `memtape run` as data.
#pragma once

#include <span>

#include "answer/train_options.h"

namespace memtape::cli {

using answer::NamedOption;

std::span<const NamedOption> run_options();

}  // namespace memtape::cli
