// SPDX-License-Identifier: Apache-2.0
// accelerate's own configuration (`accelerate launch --config_file cfg.yaml`, accelerate 1.15,
// commands/config/config_args.py): the same things its flags say, under the same names.
#pragma once

#include <string>

#include "launch/launch_command.h"

namespace memtape::launch {

/// Notes in the command what `text` says, which stands in `file`.
Result<void> note_accelerate_text(std::string_view text, std::string_view file,
                                  LaunchCommand& command);

/// Notes in the command what the file says; flags, noted later, override it.
Result<void> note_accelerate_config(const std::string& path, LaunchCommand& command);

}  // namespace memtape::launch
