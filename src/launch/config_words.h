// SPDX-License-Identifier: Apache-2.0
// `--config FILE` of serving programs: a YAML mapping whose keys are flags and that the rest of the
// command line overrides (vllm/utils/argparse_utils.py, _pull_args_from_config;
// sglang/srt/server_args_config_parser.py, ConfigArgumentMerger).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "launch/launch_command.h"

namespace memtape::launch {

/// The command's own words, with those of the file in the place of `--config FILE`, before all
/// others. `table` says which switches have a `--no-` of their own.
Result<std::vector<std::string>> with_config_file(const LaunchCommand& command,
                                                  std::span<const Flag> table);

}  // namespace memtape::launch
