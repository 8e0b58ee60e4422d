// SPDX-License-Identifier: Apache-2.0
// `--config FILE` of servers: a YAML mapping whose keys are the flags of the command line
// (vllm/utils/argparse_utils.py, _pull_args_from_config; sglang/srt/server_args_config_parser.py,
// ConfigArgumentMerger).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "formats/files.h"
#include "formats/flags.h"

namespace memtape {

/// The words with those of the file before all others, and without `--config FILE`. `table` says
/// which switches have a `--no-` form.
Result<std::vector<std::string>> with_config_file(std::vector<std::string> words,
                                                  std::span<const Flag> table, const Files& files);

}  // namespace memtape
