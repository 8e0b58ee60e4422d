// SPDX-License-Identifier: Apache-2.0
// Start scripts: what a shell would run of a text, or of a file of one. The first of its commands
// that starts a known program is taken; assignments and exports before it fill its variables in.
#pragma once

#include "launch/wrappers.h"

namespace memtape::launch {

/// sh -c "cd x && exec vllm serve ...". `given` are the words behind the text: "$@".
Unwrapped unwrap_script(std::string_view text, std::span<const std::string> given,
                        LaunchCommand& command);

/// `bash run.sh`, where the file can be read; nothing where it cannot.
std::optional<Unwrapped> unwrap_script_file(const std::string& path,
                                            std::span<const std::string> given,
                                            LaunchCommand& command);

}  // namespace memtape::launch
