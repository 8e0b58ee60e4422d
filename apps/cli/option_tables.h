// SPDX-License-Identifier: Apache-2.0
// The tables of every command, of the engines, and of the arguments of Trainer and trl as JSON, from
// which scripts/options_page.py makes docs/options.md.
#pragma once

#include <string>

namespace memtape::cli {

std::string option_tables();

}  // namespace memtape::cli
