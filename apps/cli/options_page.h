// SPDX-License-Identifier: Apache-2.0
// docs/options.md: every command's options and the arguments of Trainer and trl, from their tables.
#pragma once

#include <string>

namespace memtape::cli {

std::string options_page();

}  // namespace memtape::cli
