// SPDX-License-Identifier: Apache-2.0
// The options of `memtape run` as data.
#pragma once

#include <span>

#include "train_options.h"

namespace memtape::cli {

std::span<const NamedOption> run_options();

}  // namespace memtape::cli
