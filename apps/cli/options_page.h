// SPDX-License-Identifier: Apache-2.0
// docs/options.md: the options of every command and the arguments of Trainer and trl, made from
// their tables.
#pragma once

#include <string>

namespace memtape::cli {

std::string options_page();

}  // namespace memtape::cli
